"""The messages between editor and session; `extension/src/core/protocol.generated.ts` is generated from them.

A field with a default may be left out, and is left out where it has its default.
"""
