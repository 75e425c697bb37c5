import { describe, expect, it } from "vitest";
import { newApp, newRecord } from "../../../../../src/agent/core/records.ts";
import { imagesNeeded } from "../../../../../src/agent/core/image/images-needed.ts";
import { parseAppSpec } from "../../../../../src/protocol/apps/app-spec.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:2" });
if (!parsed.ok) throw parsed.error;
const { spec } = parsed;
const app = { ...newApp(spec, { deploymentId: "d1", imageId: "i2", containerId: "c" }), previousImageId: "i1" };

describe("images that are still needed", () => {
  it("are those of the apps, stopped ones too, and those of their previous versions", () => {
    expect(imagesNeeded([{ ...app, desired: "stopped" }], [])).toEqual({
      ids: new Set(["i2", "i1"]),
      references: new Set(),
    });
  });

  it("are those of pending deployments and of their rollback", () => {
    const update = { ...newRecord("d2", 2, spec), previous: app, imageId: "i3" };
    const pulling = newRecord("d3", 3, { ...spec, image: "example/other:1" });
    expect(imagesNeeded([], [update, pulling])).toEqual({
      ids: new Set(["i2", "i1", "i3"]),
      references: new Set(["example/app:2", "example/other:1"]),
    });
  });

  it("are by id alone those of a deployment that has ended and is not acknowledged", () => {
    const ended = { ...newRecord("d2", 2, spec), previous: app, imageId: "i3", outcome: "succeeded" } as const;
    expect(imagesNeeded([], [ended])).toEqual({ ids: new Set(["i2", "i1", "i3"]), references: new Set() });
  });
});
