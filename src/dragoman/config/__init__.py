"""The configuration: what it says (``model``), where it is and how it is read (``load``), secrets, and how it is written."""
