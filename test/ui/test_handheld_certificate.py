# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The certificate of the page for a phone or a headset."""

from pathlib import Path
import shutil
import subprocess

import pytest

from ik_node.base.errors import ParameterError
from ik_node.ui.handheld import page_server as under_test
from ik_node.ui.handheld.page_server import (
    cache_folder,
    fingerprint,
    own_certificate,
    server_context,
)

needs_openssl = pytest.mark.skipif(shutil.which('openssl') is None,
                                   reason='openssl is not installed')


def said(*arguments):
    return subprocess.run(['openssl', 'x509', '-noout', *arguments], check=True, text=True,
                          capture_output=True).stdout


@needs_openssl
def test_it_is_made_once(tmp_path, monkeypatch):
    """For the names it is asked for; nobody else can read the key; it is renewed at its end."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    folder = cache_folder()
    assert folder == tmp_path / 'ik_node/handheld'
    certificate, key = own_certificate(folder, ['192.168.1.5', 'robot.local', 'a b', '0.0.0.0'])
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        'certificate.pem': 0o600, 'key.pem': 0o600}
    names = said('-ext', 'subjectAltName', '-in', certificate)
    for name in ('DNS:localhost', 'IP Address:127.0.0.1', '192.168.1.5', 'DNS:robot.local'):
        assert name in names
    assert 'a b' not in names
    server_context(certificate, key)
    printed = said('-fingerprint', '-sha256', '-in', certificate).strip().rpartition('=')[2]
    assert fingerprint(certificate) == printed
    key.chmod(0o644)
    assert own_certificate(folder, ['192.168.1.6']) == (certificate, key)
    assert fingerprint(certificate) == printed and key.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(under_test, 'RENEWAL_MARGIN_S', 900 * 86_400)
    own_certificate(folder, [])
    assert fingerprint(certificate) != printed
    server_context(certificate, key)


@needs_openssl
def test_files_that_do_not_belong_together(tmp_path):
    certificate, _ = own_certificate(tmp_path / 'one', [])
    _, key = own_certificate(tmp_path / 'other', [])
    for wrong in (key, Path('/none.pem'), Path('/dev/null'), certificate):
        with pytest.raises(ParameterError, match='cannot be used'):
            server_context(certificate, wrong)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(ParameterError, match='set certificate and key|openssl'):
        own_certificate(tmp_path / 'file' / 'folder', [])


def test_without_openssl(tmp_path, monkeypatch):
    monkeypatch.setattr(under_test, 'OPENSSL_PROGRAM', 'no-such-openssl')
    with pytest.raises(ParameterError, match='not installed; install it, or set certificate'):
        own_certificate(tmp_path, [])
