"""What stands between a wish and a call: layers in one order, each of which may refuse."""
