import { describe, expect, test } from "vitest";
import { kinship } from "../../../../src/agent/contents/kinship.ts";

describe("an image shares contents most likely with", () => {
  test.each([
    ["registry.example.com:5000/team/app:2", "registry.example.com:5000/team/app", 2],
    ["registry.example.com:5000/team/app", "registry.example.com:5000/team/app", 2],
    ["team/app@sha256:0123", "docker.io/team/app", 2],
    ["nginx:1.29", "docker.io/library/nginx", 2],
    ["docker.io/library/nginx:1.29@sha256:0123", "docker.io/library/nginx", 2],
    ["localhost/team/app:1", "localhost/team/app", 2],
    ["mirror.example.com/team/app:1", "registry.example.com/team/app", 1],
    ["127.0.0.1:41027/team/app:1", "127.0.0.1:5000/team/app", 1],
    ["mirror.example.com/nginx:1", "docker.io/library/nginx", 1],
    ["registry.example.com/team/app-two:1", "registry.example.com/team/app", 0],
    ["registry.example.com/other/app:1", "registry.example.com/team/app", 0],
    ["<none>:<none>", "registry.example.com/team/app", 0],
  ] as const)("%s, for %s: %d", (name, repository, expected) => {
    expect(kinship([name], repository)).toBe(expected);
    expect(kinship(["other:1", name], repository)).toBe(expected);
  });

  test("the one with the closest of its names", () => {
    const names = ["mirror.example.com/team/app:1", "registry.example.com/team/app:1"];
    expect(kinship(names, "registry.example.com/team/app")).toBe(2);
    expect(kinship([], "registry.example.com/team/app")).toBe(0);
  });
});
