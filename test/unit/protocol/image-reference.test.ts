import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { appSpecSchema } from "../../../src/protocol/apps/app-spec.ts";
import { explainImageReference } from "../../../src/protocol/apps/explain-image-reference.ts";
import { hasFloatingTag, parseImageReference } from "../../../src/protocol/apps/image-reference.ts";

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

describe("the reason for refusing an image reference", () => {
  const digest = "sha256: and 64 hexadecimal digits in lower case";
  const credentials = "'@' begins a digest; credentials do not belong here, they go into `registry_auth`";
  const parts = "parts of a name are lower-case letters and digits, with '.', '_', '__' or '-' between them only";
  const tag = "a tag is 1 to 128 letters, digits, '_', '.' or '-', beginning with a letter, a digit or '_'";
  const scheme = "write it without the scheme, such as registry.example.com/team/app:1.2";
  const registry = "before the first '/' a registry is expected: a host, with a port in digits if it needs one";

  it.each([
    ["", "it is empty"],
    [" ", "it is empty"],
    ["nginx:1 ", "it begins or ends with white space"],
    ["docker pull nginx", "it contains white space"],
    ["Nginx:1", "names are lower case; write nginx:1"],
    ["Nginx:V1", "names are lower case; write nginx:V1"],
    ["ghcr.io/Team/App@" + DIGEST, "names are lower case; write ghcr.io/team/app@" + DIGEST],
    ["https://ghcr.io/team/app:1", scheme],
    ["HTTPS://ghcr.io/team/app:1", scheme],
    ["docker://nginx", scheme],
    ["https://user:s3cret@ghcr.io/team/app:1", scheme],
    ["user:s3cret@ghcr.io/team/app:1", credentials],
    ["user:s3cret@localhost:5000/app", credentials],
    ["user:s3cret@ghcr.io/app@" + DIGEST, credentials],
    ["app@", `after '@' a digest is expected: ${digest}`],
    ["app@sha256:abc", `after '@' a digest is expected: ${digest}`],
    ["app@" + DIGEST.slice(0, -1), `its digest has 63 digits; a digest is ${digest}`],
    ["app@" + DIGEST.toUpperCase(), `its digest must be ${digest}`],
    ["app@sha512:" + "a".repeat(128), `its digest must be ${digest}`],
    ["app@" + DIGEST + "@" + DIGEST, "it has two digests"],
    ["nginx:", "the tag after ':' is missing"],
    ["nginx:@" + DIGEST, "the tag after ':' is missing"],
    ["nginx:-x", tag],
    ["nginx:1+2", tag],
    ["Nginx:1+2", tag],
    ["nginx:" + "x".repeat(129), tag],
    [":1", "the name of the image is missing"],
    ["ghcr.io/", "the name of the image is missing"],
    ["/app", "it must not begin with '/'"],
    ["a//b", "it has an empty part between two '/'"],
    ["host:port/app", registry],
    ["ghcr.io:443:443/app", registry],
    ["app;rm", parts],
    ["nginx_:1", parts],
    ["a".repeat(256), "its name is longer than 255 characters"],
  ])("%j: %s", (reference, reason) => {
    expect(explainImageReference(reference)).toBe(reason);
    const { error } = appSpecSchema.safeParse({ name: "app", image: reference });
    expect(error?.issues).toMatchObject([{ message: `is not a valid container image reference: ${reason}` }]);
  });

  // Letters that make up references, and parts of them, so that valid and nearly valid ones are common.
  const text = fc
    .array(fc.constantFrom("a", "B", "1", ".", ":", "/", "@", "-", "_", " ", "é", "sha256:", DIGEST, "https://"))
    .map((parts) => parts.join(""));

  it("is given for exactly the references that do not parse", () => {
    fc.assert(
      fc.property(text, (reference) => {
        expect(explainImageReference(reference) === undefined).toBe(parseImageReference(reference) !== undefined);
      }),
    );
  });

  it("never repeats credentials", () => {
    const host = fc.constantFrom("ghcr.io/app:1", "localhost:5000/app", "Ghcr.io/App", `ghcr.io/app@${DIGEST}`, "x y");
    const before = fc.constantFrom("", "https://", "docker://", " ");
    fc.assert(
      fc.property(before, text, host, text, (prefix, noise, where, end) => {
        const reference = `${prefix}user:hunter2${noise}@${where}${end}`;
        expect(explainImageReference(reference) ?? "").not.toContain("hunter2");
      }),
    );
  });

  it("suggests a reference that parses", () => {
    fc.assert(
      fc.property(text, (reference) => {
        const [, suggested] = /; write (?!it )(.*)$/s.exec(explainImageReference(reference) ?? "") ?? [];
        if (suggested !== undefined) expect(parseImageReference(suggested)).toBeDefined();
      }),
    );
  });
});
