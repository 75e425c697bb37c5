import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newApp } from "../../../../src/agent/core/records.ts";
import { MIGRATIONS } from "../../../../src/agent/store/migrations.ts";
import { parseAppSpec } from "../../../../src/protocol/apps/app-spec.ts";
import { UpdateAgentRig } from "../../../support/updates/update-agent-rig.ts";

const NEXT = "1.1.0";
const ID = "dep_1";
/** What a later version may do to the schema: add. */
const SECOND = `
  ALTER TABLE deployments ADD COLUMN note TEXT;
  ALTER TABLE outbox ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE apps ADD COLUMN note TEXT;
  ALTER TABLE history ADD COLUMN note TEXT;
  ALTER TABLE traffic ADD COLUMN packets INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE interface_traffic ADD COLUMN packets INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE interface_marks ADD COLUMN packets INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE learned ADD COLUMN note TEXT;
  ALTER TABLE file_contents ADD COLUMN note TEXT;
  CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
`;
const THIRD = "ALTER TABLE deployments DROP COLUMN record";

const parsed = parseAppSpec({ name: "web", image: "example/web:1" });
if (!parsed.ok) throw parsed.error;
const APP = newApp(parsed.spec, { deploymentId: "dep_0", imageId: "i", containerId: "c" });

const unchanged = (): void => undefined;

/* Versions that follow each other use one store, whoever has written it last. */
describe("the store of a version on trial that has a further schema", () => {
  let rig: UpdateAgentRig;

  beforeEach(async () => {
    rig = await UpdateAgentRig.create();
    rig.store.save({ app: APP });
    rig.store.saveLearnedValue("network", "30");
    rig.store.save({ historyEntry: { kind: "repair", app: "web", at: 1, reason: "it was gone" } });
  });
  afterEach(() => rig[Symbol.asyncDispose]());

  const schema = (): unknown => {
    const database = new DatabaseSync(rig.device.path("state/agent.db"));
    const { user_version: version } = database.prepare("PRAGMA user_version").get() ?? {};
    database.close();
    return version;
  };
  const onTrial = async (migrations: readonly string[]): Promise<readonly string[]> => {
    rig.migrations = (version) => (version === NEXT ? migrations : undefined);
    rig.update(ID, { image: await rig.push(NEXT) });
    await rig.handedOver(ID);
    expect(await rig.device.handle()).toMatchObject({ ok: true });
    return await rig.restartAfter(unchanged);
  };
  const expectStore = (): void => {
    expect(rig.store.apps()).toEqual([APP]);
    expect(rig.store.learnedValue("network")).toBe("30");
    expect(rig.store.history(10)).toContainEqual(expect.objectContaining({ kind: "repair", reason: "it was gone" }));
    expect(existsSync(rig.device.path("state/agent.db.damaged"))).toBe(false);
  };
  const expectBack = async (): Promise<void> => {
    const end = await rig.ended(ID);
    expect(end).toMatchObject({ code: "AgentUpdateFailed", details: { reason: "crashed" } });
    expect(end.details).not.toHaveProperty("store_lost");
    expectStore();
  };

  it("is used by the version before once that is back, with what was written on trial", async () => {
    expect(await onTrial([...MIGRATIONS, SECOND])).toEqual([NEXT]);
    expectStore();
    rig.store.saveLearnedValue("written", "on trial");
    let found: unknown;
    const crash = (): void => void (found = schema());
    expect(await rig.restartAfter(crash)).toEqual([NEXT]);
    expect(await rig.restartAfter(crash)).toEqual([NEXT]);
    expect(await rig.restartAfter(crash)).toEqual(["package"]);
    expect(found).toBe(MIGRATIONS.length + 1);
    await expectBack();
    expect(rig.store.learnedValue("written")).toBe("on trial");
  });

  it("is used by the same version when it is tried again, and once it is confirmed", async () => {
    await onTrial([...MIGRATIONS, SECOND]);
    for (let start = 0; start < 3; start++) await rig.restartAfter(unchanged);
    await expectBack();
    rig.store.saveLearnedValue("written", "by the version before");
    rig.update("dep_2", { image: `${rig.registry.host}/team/edge-agent:${NEXT}`, again: true });
    await rig.handedOver("dep_2");
    await rig.device.handle();
    expect(await rig.restartAfter(unchanged)).toEqual([NEXT]);
    await rig.device.confirm(NEXT);
    expect(await rig.ended("dep_2")).toMatchObject({ status: "Success" });
    expectStore();
    expect(rig.store.learnedValue("written")).toBe("by the version before");
  });

  it("is left as it is if the version before could not read the result: the version on trial ends", async () => {
    expect(await onTrial([...MIGRATIONS, SECOND, THIRD])).toEqual([NEXT, NEXT, NEXT, "package"]);
    await expectBack();
  });
});
