"""What all tests share: a cache folder of their own."""

from collections.abc import Generator

import pytest

from andrea_exp.data.cache import VARIABLE


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """No test reads or writes the user's own cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield
