"""Credentials, region and address of S3, from where Amazon's tools keep them."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from dali_lab.io.remote.small_objects import Signing

_lock = threading.Lock()


def settings(bucket: str) -> dict[str, Any]:
    """Arguments of obstore's ``S3Store``.

    Environment, ``~/.aws``, sign-on and roles of machines are asked in the order of Amazon's library. Without
    credentials requests are not signed, which is the way to read public buckets.
    """
    result: dict[str, Any] = {}
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if key and secret:
        result.update(access_key_id=key, secret_access_key=secret)
        if os.environ.get("AWS_SESSION_TOKEN"):
            result["session_token"] = os.environ["AWS_SESSION_TOKEN"]
    else:
        with _lock:
            found, profile_region, profile_endpoint = _from_library()
        result.update(found)
        region, endpoint = region or profile_region, endpoint or profile_endpoint
    result["region"] = region or "us-east-1"
    if endpoint:
        result["endpoint"] = endpoint
    # Names with dots have no certificate of their own; servers at an address of one's own know paths alone.
    result["virtual_hosted_style_request"] = not endpoint and "." not in bucket
    return result


def _from_library() -> tuple[dict[str, Any], str | None, str | None]:
    """Settings that boto3 finds: credentials that renew themselves, region, and the address of another server."""
    import boto3
    import botocore.exceptions
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        session = boto3.Session()
        given = session._session.get_config_variable
        endpoint = session._session.get_scoped_config().get("endpoint_url")
        region = given("region")
        if session.get_credentials() is None:
            return {"skip_signature": True}, region, endpoint
        return {"credential_provider": Boto3CredentialProvider(session)}, region, endpoint
    except botocore.exceptions.BotoCoreError as error:
        from dali_lab.io.remote.store import Kind, StoreError

        raise StoreError(Kind.WRONG, f"the settings of Amazon's tools cannot be used: {error}") from None


def address(bucket: str, found: Mapping[str, Any]) -> tuple[str, str]:
    """The server that :func:`settings` lead to, and the path of the bucket there, from slash to slash."""
    if "endpoint" in found:
        endpoint = urlsplit(found["endpoint"])
        return f"{endpoint.scheme}://{endpoint.netloc}", f"{endpoint.path.rstrip('/')}/{bucket}/"
    server = f"s3.{found['region']}.amazonaws.com"
    return (
        (f"https://{bucket}.{server}", "/")
        if found["virtual_hosted_style_request"]
        else (f"https://{server}", f"/{bucket}/")
    )


def signing(found: Mapping[str, Any]) -> Signing | None:
    """What requests are signed with by :func:`settings`; a provider of credentials renews them itself."""
    if "skip_signature" in found:
        return None
    provider = found.get("credential_provider")

    def credentials() -> tuple[str, str, str]:
        given = provider() if provider is not None else found
        token = given.get("token") or given.get("session_token") or ""
        return given["access_key_id"], given["secret_access_key"], token

    return Signing(found["region"], credentials)
