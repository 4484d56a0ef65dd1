"""For the tests of programs that use this package: fakes and reusable checks."""
