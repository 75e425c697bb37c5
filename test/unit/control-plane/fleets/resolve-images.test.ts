import { describe, expect, test } from "vitest";
import type { ImageResolver } from "../../../../src/control-plane/images/image-resolver.ts";
import { resolveImages } from "../../../../src/control-plane/images/resolve-images.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const AUTH = { username: "robot", password: "pa55" };
const never = new AbortController().signal;
const pinning: ImageResolver = { resolve: async (reference) => `${reference}@${DIGEST}` };

describe("images of a revision", () => {
  test("are resolved once each, eight at a time", async () => {
    let running = 0;
    let most = 0;
    const asked: string[] = [];
    const resolver: ImageResolver = {
      async resolve(reference) {
        asked.push(reference);
        most = Math.max(most, ++running);
        for (let turn = 0; turn < 10; turn++) await Promise.resolve();
        running--;
        return `${reference}@${DIGEST}`;
      },
    };
    const references = Array.from({ length: 20 }, (_, index) => `app-${index}`);
    const resolved = await resolveImages(resolver, [...references, ...references], undefined, never);
    expect(asked).toEqual(references);
    expect(most).toBe(8);
    expect([...resolved]).toEqual(references.map((reference) => [reference, `${reference}@${DIGEST}`]));
  });

  test("are given up after the first error, which is the one reported", async () => {
    const aborted: string[] = [];
    let asked = 0;
    const resolver: ImageResolver = {
      async resolve(reference, _auth, signal) {
        asked++;
        if (reference === "app-3") throw new Error("no such tag");
        return await new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            aborted.push(reference);
            reject(new Error("later"));
          });
        });
      },
    };
    const references = Array.from({ length: 20 }, (_, index) => `app-${index}`);
    await expect(resolveImages(resolver, references, undefined, never)).rejects.toThrow("no such tag");
    expect(aborted.length).toBe(asked - 1);
    expect(asked).toBeLessThanOrEqual(8);
  });

  test("are given up with the caller's reason", async () => {
    const caller = new AbortController();
    const resolver: ImageResolver = {
      resolve: async (_reference, _auth, signal) => {
        caller.abort(new Error("gone"));
        signal.throwIfAborted();
        return "";
      },
    };
    await expect(resolveImages(resolver, ["a", "b"], undefined, caller.signal)).rejects.toThrow("gone");
  });
});

describe("credentials", () => {
  test("are refused where tags are in several registries", async () => {
    const images = ["one.example.com/a:1", "two.example.com/b:1"];
    await expect(resolveImages(pinning, images, AUTH, never)).rejects.toMatchObject({
      code: "InvalidRequest",
      message: expect.stringContaining("one.example.com, two.example.com") as string,
      details: { issues: [{ path: "registry_auth" }] },
    });
    expect((await resolveImages(pinning, images, undefined, never)).size).toBe(2);
  });

  test.each([
    ["one.example.com/a:1", "One.example.com/b:2"],
    ["one.example.com/a:1", `two.example.com/b@${DIGEST}`],
    ["alpine", "docker.io/library/alpine:3", "index.docker.io/team/app", "registry-1.docker.io/team/app"],
  ])("are for the one registry of %s, %s", async (...images) => {
    expect((await resolveImages(pinning, images, AUTH, never)).size).toBe(images.length);
  });
});
