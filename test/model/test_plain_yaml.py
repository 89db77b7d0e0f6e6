# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""YAML of users: plain values, or one sentence."""

from hypothesis import given, settings, strategies as st
from nightly import samples
import pytest

from ik_node.base.errors import ParameterError
from ik_node.model.user_files.plain_yaml import read_plain_yaml

TAGS = ('!!bool', '!!int', '!!float', '!!timestamp', '!!str', '!!binary', '!',
        '!!python/name:os.system')
SCRAPS = st.sampled_from([
    *TAGS, '*a', '&a', 'a: ', '- ', '{', '}', '[', ']', '"', "'", ',', '\n  ', '0x', '0b', '_',
    '1:2', '2001-99-99', '<<: ', '=', '.inf', 'yes', '---\n', '#', '|', '>', '%', '\t'])


def read(text):
    return read_plain_yaml(text.encode('utf-8', 'surrogatepass'), 'the file', 'key', 'words')


@pytest.mark.parametrize('tag', TAGS)
@pytest.mark.parametrize('text', ['key: {a: %s "xx"}', 'key: {a: %s ""}', 'key: {%s xx: 1}',
                                  'key: %s {a: 1}', 'key: {a: %s [1]}', '%s {key: {}}'])
def test_tags_are_refused(tag, text):
    """What a text is, it shows itself."""
    with pytest.raises(ParameterError, match="the tag '.*' is not allowed in line 1") as error:
        read(text % tag)
    assert '\n' not in str(error.value)


def test_values_without_tags():
    """They are what they look like."""
    assert read('key: {a: [1, 2.5, true, x], "yes": "1"}') == {
        'a': [1, 2.5, True, 'x'], 'yes': '1'}
    assert read('key:') == {}


@settings(max_examples=samples(usual=100, nightly=5000), deadline=None)
@given(st.lists(st.one_of(SCRAPS, st.text(max_size=3)), max_size=12).map(''.join))
def test_any_text(text):
    """A mapping, or one sentence."""
    for whole in (text, f'key: {text}'):
        try:
            assert isinstance(read(whole), dict)
        except ParameterError as error:
            assert '\n' not in str(error)
