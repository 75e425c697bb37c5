import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasFloatingTag, parseImageReference } from "../../../src/protocol/image-reference.ts";

const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;

describe("image references", () => {
  it.each([
    ["busybox", "docker.io", "library/busybox", undefined, undefined],
    ["busybox:1.36", "docker.io", "library/busybox", "1.36", undefined],
    ["team/app", "docker.io", "team/app", undefined, undefined],
    ["localhost/app", "localhost", "app", undefined, undefined],
    ["localhost:5000/app:2", "localhost:5000", "app", "2", undefined],
    ["[::1]:5000/app", "[::1]:5000", "app", undefined, undefined],
    ["ghcr.io/a/b/c@" + DIGEST, "ghcr.io", "a/b/c", undefined, DIGEST],
    ["ghcr.io/a/b:1@" + DIGEST, "ghcr.io", "a/b", "1", DIGEST],
    ["Registry/app", "Registry", "app", undefined, undefined],
  ])("%s", (reference, registry, repository, tag, digest) => {
    expect(parseImageReference(reference)).toEqual({ registry, repository, tag, digest });
  });

  it.each([
    "",
    " ",
    "UPPER",
    "team/UPPER",
    "a b",
    "app:",
    "app:-x",
    "app:" + "x".repeat(129),
    "app@sha256:abc",
    "app@" + DIGEST + "@" + DIGEST,
    "/app",
    "app/",
    "a//b",
    "https://ghcr.io/app",
    "host:port/app",
    "app;rm -rf",
    "a".repeat(256),
  ])("refuses %j", (reference) => {
    expect(parseImageReference(reference)).toBeUndefined();
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        parseImageReference(text);
      }),
    );
  });

  it.each([
    ["app", true],
    ["app:latest", true],
    ["app:1", false],
    [`app@${DIGEST}`, false],
    [`app:latest@${DIGEST}`, false],
  ])("%s may change under its name: %s", (reference, moving) => {
    const parsed = parseImageReference(reference);
    expect(parsed && hasFloatingTag(parsed)).toBe(moving);
  });
});
