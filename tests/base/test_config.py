import threading

import pytest

from adjoint.base.config import Config, config


@pytest.fixture(autouse=True)
def untouched(monkeypatch):
    """Settings as if no one had set any."""
    for setting in Config.settings().values():
        monkeypatch.delenv(setting.variable, raising=False)
    config.reset()
    yield
    config.reset()


def test_defaults():
    assert config.full_traceback is False
    assert config.progress is None


@pytest.mark.parametrize("text, value", [("1", True), ("true", True), ("ON", True), ("0", False), (" no ", False)])
def test_environment(monkeypatch, text, value):
    monkeypatch.setenv("ADJOINT_FULL_TRACEBACK", text)
    monkeypatch.setenv("ADJOINT_PROGRESS", text)
    config.reset()
    assert config.full_traceback is value
    assert config.progress is value


def test_environment_can_say_auto(monkeypatch):
    monkeypatch.setenv("ADJOINT_PROGRESS", "auto")
    assert config.progress is None


def test_unreadable_environment_is_named_and_ignored(monkeypatch):
    monkeypatch.setenv("ADJOINT_FULL_TRACEBACK", "maybe")
    with pytest.warns(UserWarning, match="ADJOINT_FULL_TRACEBACK='maybe'.*True or False"):
        assert config.full_traceback is False
    assert config.full_traceback is False  # and no second warning


def test_assignment_holds_for_all_threads():
    config.progress = False
    seen = []
    thread = threading.Thread(target=lambda: seen.append(config.progress))
    thread.start()
    thread.join()
    assert seen == [False]


def test_override_holds_for_its_block_and_thread_only():
    seen = []
    with config.override(progress=True, full_traceback=True):
        thread = threading.Thread(target=lambda: seen.append(config.progress))
        thread.start()
        thread.join()
        with config.override(progress=False):
            assert (config.progress, config.full_traceback) == (False, True)
        assert config.progress is True
    assert config.progress is None
    assert seen == [None]


def test_override_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), config.override(progress=False):
        1 / 0
    assert config.progress is None


@pytest.mark.parametrize("value", [1, "yes", 0.5])
def test_values_are_checked(value):
    with pytest.raises(TypeError, match=r"config\.progress cannot be"):
        config.progress = value
    with pytest.raises(TypeError, match=r"config\.progress cannot be"), config.override(progress=value):
        pass
    assert config.progress is None


def test_none_is_not_a_truth_value_where_there_is_no_auto():
    with pytest.raises(TypeError, match=r"config\.full_traceback cannot be None"):
        config.full_traceback = None


def test_unknown_settings_are_refused():
    with pytest.raises(AttributeError, match="no setting 'progres'; it has full_traceback, progress"):
        config.progres = False
    with pytest.raises(AttributeError, match="no setting 'progres'"), config.override(progres=False):
        pass


def test_repr_shows_value_variable_and_meaning_of_each():
    text = repr(config)
    for name, setting in Config.settings().items():
        assert f"{name} = " in text
        assert setting.variable in text
        assert setting.meaning in text
