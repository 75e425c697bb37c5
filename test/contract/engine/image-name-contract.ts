import { describe, expect, test } from "vitest";
import { uniqueName } from "../../support/images/load-image.ts";
import type { EngineHarness } from "./harness.ts";
import { plainRequest } from "./harness.ts";
import { expectKind, unaborted } from "./steps.ts";

const DIGEST = `sha256:${"5".repeat(64)}`;

export function imageNameContract(harness: () => EngineHarness): void {
  const idOf = async (reference: string): Promise<string | undefined> => {
    return (await harness().engine.inspectImage(reference, unaborted))?.id;
  };

  describe("names of images", () => {
    test.each([
      ["a tag", () => `registry.example.com/team/${uniqueName("tagged")}:1.0`],
      ["no tag", () => `registry.example.com/team/${uniqueName("plain")}`],
      ["a digest", () => `registry.example.com/team/${uniqueName("fixed")}@${DIGEST}`],
      ["a tag and a digest", () => `registry.example.com/team/${uniqueName("both")}:1.0@${DIGEST}`],
      ["no registry", () => `${uniqueName("short")}:1.0`],
      ["neither a registry nor a tag", () => uniqueName("bare")],
    ])("an image gets a further one with %s, can be run by it, and loses it", async (_what, name) => {
      const { engine, images } = harness();
      const reference = name();
      const id = (await idOf(images.sleeper)) ?? "";
      await engine.tagImage(id, reference, unaborted);
      expect(await idOf(reference)).toBe(id);
      const container = await engine.createContainer(plainRequest(uniqueName("app"), reference), unaborted);
      try {
        const containerConfig = await engine.readContainerConfig(container, unaborted);
        expect(containerConfig?.imageId).toBe(id);
        expect(await idOf(containerConfig?.image ?? "")).toBe(id);
        expect(containerConfig?.image.includes("@sha256:")).toBe(reference.includes("@"));
      } finally {
        await engine.removeContainer(container, unaborted);
      }
      await engine.untagImage(reference, unaborted);
      expect(await idOf(reference)).toBeUndefined();
      expect(await idOf(images.sleeper)).toBe(id);
    });

    test("images are listed with their names and sizes", async () => {
      const { engine, images } = harness();
      const reference = `registry.example.com/team/${uniqueName("listed")}:1.0`;
      const id = (await idOf(images.sleeper)) ?? "";
      await engine.tagImage(id, reference, unaborted);
      const listed = (await engine.listImages(unaborted)).find((image) => image.id === id);
      expect(listed?.names).toEqual(expect.arrayContaining([reference, expect.stringContaining(images.sleeper)]));
      expect(listed?.size).toBeGreaterThanOrEqual(0);
      await engine.untagImage(reference, unaborted);
      const after = (await engine.listImages(unaborted)).find((image) => image.id === id);
      expect(after?.names).not.toContain(reference);
    });

    test("a name moves to another image", async () => {
      const { engine, images } = harness();
      const reference = `registry.example.com/team/${uniqueName("moving")}:1.0`;
      for (const image of [images.sleeper, images.crasher]) {
        await engine.tagImage(image, reference, unaborted);
        expect(await idOf(reference)).toBe(await idOf(image));
      }
      await engine.untagImage(reference, unaborted);
      expect(await idOf(images.sleeper)).toBeDefined();
    });

    test("an image whose name moved to another one is found, run and removed by its id", async () => {
      const { engine, images, pullable } = harness();
      await engine.pullImage(pullable.present, () => {}, unaborted);
      const id = (await idOf(pullable.present)) ?? "";
      await engine.tagImage(images.sleeper, pullable.present, unaborted);
      expect(await idOf(pullable.present)).toBe(await idOf(images.sleeper));
      expect(await idOf(id)).toBe(id);
      const container = await engine.createContainer(plainRequest(uniqueName("app"), id), unaborted);
      expect((await engine.readContainerConfig(container, unaborted))?.imageId).toBe(id);
      await engine.removeContainer(container, unaborted);
      await engine.untagImage(pullable.present, unaborted);
      await engine.untagImage(id, unaborted);
      expect(await idOf(id)).toBeUndefined();
    });

    test("removing a missing name is no error, and naming a missing image is", async () => {
      const { engine } = harness();
      const reference = `registry.example.com/team/${uniqueName("absent")}:1.0`;
      await engine.untagImage(reference, unaborted);
      await expectKind(engine.tagImage(DIGEST, reference, unaborted), "image_not_found");
    });
  });
}
