import { describe, expect, it } from "vitest";
import { replacementOf } from "../../../src/protocol/apps/app-update.ts";
import { appSpecSchema } from "../../../src/protocol/apps/app-spec.ts";
import { parseAppUpdate } from "../../../src/protocol/apps/app-update.ts";

describe("the update that replaces an app", () => {
  it("names every field but the name, and clears those that the app does not have", () => {
    const update = replacementOf(appSpecSchema.parse({ name: "web", image: "web:1", memory_limit: 2 ** 26 }));
    expect(Object.keys(update).toSorted()).toEqual(
      Object.keys(appSpecSchema.shape)
        .filter((field) => field !== "name")
        .toSorted(),
    );
    expect(update).toMatchObject({
      image: "web:1",
      ports: [],
      privileged: false,
      memory_limit: 2 ** 26,
      command: null,
    });
    expect(parseAppUpdate(update)).toMatchObject({ ok: true });
  });
});
