import { expect, test } from "vitest";
import { parseImageAddress, registryHost } from "../../../../src/lib/registry/address.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

test.each([
  ["nginx", "docker.io", "library/nginx", undefined, undefined],
  ["nginx:1.27", "docker.io", "library/nginx", "1.27", undefined],
  ["team/app", "docker.io", "team/app", undefined, undefined],
  ["docker.io/nginx", "docker.io", "library/nginx", undefined, undefined],
  ["index.docker.io/team/app", "docker.io", "team/app", undefined, undefined],
  ["registry.example.com/nginx:1", "registry.example.com", "nginx", "1", undefined],
  ["registry.example.com:5000/a/b/c@" + DIGEST, "registry.example.com:5000", "a/b/c", undefined, DIGEST],
  ["localhost/app:1@" + DIGEST, "localhost", "app", "1", DIGEST],
])("%s is at %s %s", (reference, registry, repository, tag, digest) => {
  expect(parseImageAddress(reference)).toEqual({ registry, host: registryHost(registry), repository, tag, digest });
});

test("Docker Hub's host differs from its name in references", () => {
  expect(registryHost("docker.io")).toBe("registry-1.docker.io");
  expect(registryHost("registry.example.com:5000")).toBe("registry.example.com:5000");
});
