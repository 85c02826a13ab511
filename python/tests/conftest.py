def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also the tests of Python itself, some seconds")
