# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Certificates for TLS: the user's, or one that the program openssl makes here."""

from __future__ import annotations

from collections.abc import Iterable
import hashlib
import ipaddress
import os
from pathlib import Path
import re
import shutil
import ssl
import subprocess
import tempfile

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote

OPENSSL_PROGRAM = 'openssl'
CERTIFICATE_FILE, KEY_FILE = 'certificate.pem', 'key.pem'
VALID_DAYS = 825
RENEWAL_MARGIN_S = 86_400  # before its end
OPENSSL_TIMEOUT_S = 30.0
HOST_NAME = re.compile(r'[A-Za-z0-9.-]{1,253}')


def cache_folder() -> Path:
    """Return where the certificate of this user is kept."""
    caches = os.environ.get('XDG_CACHE_HOME') or '~/.cache'
    return Path(caches).expanduser() / 'ik_node' / 'handheld'


def own_certificate(folder: Path, hosts: Iterable[str]) -> tuple[Path, Path]:
    """
    Return a self-signed certificate and its key, which only the user can read.

    It stays the same, so that it has to be accepted once by each device, until it ends.

    Parameters
    ----------
    folder : Path
        Where they are kept.
    hosts : iterable of str
        Names and addresses for which a new one is made.

    """
    certificate, key = folder / CERTIFICATE_FILE, folder / KEY_FILE
    if shutil.which(OPENSSL_PROGRAM) is None:
        raise ParameterError('TLS needs a certificate, and openssl, which would make one, is not '
                             'installed; install it, or set certificate and key')
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (certificate.is_file() and key.is_file() and _is_valid(certificate)):
            with tempfile.TemporaryDirectory(dir=folder) as made:
                _make(Path(made), hosts)
                for path in (certificate, key):
                    (Path(made) / path.name).replace(path)
        for path in (certificate, key):
            path.chmod(0o600)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, 'stderr', '') or str(error)
        raise ParameterError('no certificate can be made in '
                             f'{quote(folder)}: {quote(said.strip(), 200)}; set certificate and '
                             'key') from None
    return certificate, key


def _is_valid(certificate: Path) -> bool:
    return subprocess.run(
        [OPENSSL_PROGRAM, 'x509', '-noout', '-checkend', str(RENEWAL_MARGIN_S), '-in',
         str(certificate)],
        capture_output=True, timeout=OPENSSL_TIMEOUT_S, check=False).returncode == 0


def _make(folder: Path, hosts: Iterable[str]) -> None:
    subprocess.run(
        [OPENSSL_PROGRAM, 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
         'ec_paramgen_curve:prime256v1', '-nodes', '-days', str(VALID_DAYS), '-subj',
         '/CN=ik_handheld', '-addext', f'subjectAltName={",".join(_names(hosts))}',
         '-keyout', str(folder / KEY_FILE), '-out', str(folder / CERTIFICATE_FILE)],
        capture_output=True, text=True, timeout=OPENSSL_TIMEOUT_S, check=True,
        umask=0o077)


def _names(hosts: Iterable[str]) -> list[str]:
    names = {'DNS:localhost': None, 'IP:127.0.0.1': None}
    for host in hosts:
        try:
            names[f'IP:{ipaddress.ip_address(host)}'] = None
        except ValueError:
            if HOST_NAME.fullmatch(host):
                names[f'DNS:{host}'] = None
    return [*names]


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the TLS settings of a server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without the password it would be asked for on the terminal.
        context.load_cert_chain(certificate, key, password='')
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ParameterError(f'the certificate {quote(certificate)} with the key {quote(key)} '
                             f'cannot be used: {error}; both must be PEM files, and the key '
                             'without a password') from None
    return context


def fingerprint(certificate: Path) -> str:
    """Return the SHA-256 of the first certificate in a PEM file, as browsers show it."""
    pem = certificate.read_text(encoding='ascii', errors='replace')
    first = pem[pem.index(ssl.PEM_HEADER):]
    first = first[:first.index(ssl.PEM_FOOTER) + len(ssl.PEM_FOOTER)]
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(first)).digest().hex(':').upper()
