import { describe, expect, it } from "vitest";
import { isSameRepository, knownDigests } from "../../../../../src/agent/core/image/known-digest.ts";

const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;
const [A, B, C] = [digest("a"), digest("b"), digest("c")];

describe("the digests an image is known by", () => {
  it("are those of its repository: recorded for this image, then the engine's, each once", () => {
    const found = knownDigests("nginx:1", {
      imageId: "id",
      repoDigests: [`nginx@${B}`, `docker.io/library/nginx@${A}`, `registry.example.com/nginx@${C}`],
      recorded: [
        { reference: "docker.io/library/nginx:2", imageId: "id", digest: A },
        { reference: "nginx:1", imageId: "other", digest: C },
        { reference: "nginx:1", imageId: "id", digest: null },
        { reference: "example/nginx:1", imageId: "id", digest: C },
      ],
    });
    expect(found).toEqual([A, B]);
  });

  it("are none where nobody has recorded any, and the reference's own where it has one", () => {
    const nothing = { imageId: "id", repoDigests: [], recorded: [] };
    expect(knownDigests("nginx:1", nothing)).toEqual([]);
    expect(knownDigests(`nginx:1@${A}`, nothing)).toEqual([A]);
  });
});

describe("a repository", () => {
  it.each([
    ["nginx", "docker.io/library/nginx:1", true],
    ["a.example/x:1", `a.example/x@${A}`, true],
    ["a.example/x", "b.example/x", false],
    ["a.example/x", "a.example/y", false],
    ["not a reference", "not a reference", false],
  ])("%s and %s: %s", (one, other, isSame) => expect(isSameRepository(one, other)).toBe(isSame));
});
