import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UpdateAgentRig } from "../../../support/updates/update-agent-rig.ts";

const VERSION = "1.1.0";
const ID = "dep_1";

describe("an update whose release damages the agent's store", () => {
  let rig: UpdateAgentRig;

  beforeEach(async () => {
    rig = await UpdateAgentRig.create();
  });
  afterEach(() => rig[Symbol.asyncDispose]());

  const onTrial = async (): Promise<void> => {
    rig.update(ID, { image: await rig.push(VERSION) });
    expect(await rig.handedOver(ID)).toMatchObject({ deployment: ID });
    expect(await rig.device.handle()).toMatchObject({ ok: true });
    expect(await rig.restart()).toBe(VERSION);
  };
  const store = (): string => rig.device.path("state/agent.db");
  const inStore = (statements: string): void => {
    const database = new DatabaseSync(store());
    database.exec(statements);
    database.close();
  };

  it.each<[string, () => void]>([
    ["with garbage", () => writeFileSync(store(), readFileSync(store()).fill(0x5a))],
    ["by removing it", () => rmSync(store())],
    ["by leaving it empty", () => writeFileSync(store(), "")],
    ["by a folder in its place", () => (rmSync(store()), mkdirSync(store()))],
    ["by a schema that the version before does not know", () => inStore("PRAGMA user_version = 99")],
    ["by tables without a version", () => inStore("PRAGMA user_version = 0")],
    ["by removing a table", () => inStore("DROP TABLE outbox")],
    [
      "with all else that the agent had stored",
      () => {
        for (const name of readdirSync(rig.device.path("state")))
          rmSync(rig.device.path("state", name), { recursive: true });
      },
    ],
  ])("%s ends with a Fail of the version before, which says so", async (_how, damage) => {
    await onTrial();
    expect(await rig.restartAfter(damage)).toEqual([VERSION, VERSION, "package"]);
    const end = await rig.ended(ID);
    expect(end).toMatchObject({ code: "AgentUpdateFailed", details: { reason: "crashed", store_lost: true } });
    expect(end.message).toBe(
      `Release ${VERSION} did not work: it ended three times before it was confirmed. The device runs the version before. Since the update began, the agent's store was lost; apps are found again by their containers.`,
    );
  });

  it("is restored once: not by the starts after its end", async () => {
    await onTrial();
    await rig.restartAfter(() => rmSync(store()));
    const last = (await rig.ended(ID)) as { device_seq?: number };
    rig.store.acknowledge(ID, last.device_seq ?? 0);
    await rig.restart();
    expect(rig.events(ID)).toEqual([]);
  });

  it.each<[string, string]>([
    ["by removing its record", "DELETE FROM deployments; DELETE FROM outbox"],
    ["by removing every row", "DELETE FROM deployments; DELETE FROM outbox; DELETE FROM history; DELETE FROM learned"],
  ])("%s ends with a Fail, although the store is sound", async (_how, statements) => {
    await onTrial();
    expect(await rig.restartAfter(() => inStore(statements))).toEqual([VERSION]);
    // Each start restores it, and the release removes it again.
    expect(await rig.restartAfter(() => inStore(statements))).toEqual([VERSION]);
    expect(await rig.restartAfter(() => inStore(statements))).toEqual(["package"]);
    expect(await rig.ended(ID)).toMatchObject({
      code: "AgentUpdateFailed",
      details: { reason: "crashed", store_lost: true },
    });
  });

  it("and which has ended is not restored once the history has forgotten it", async () => {
    await onTrial();
    await rig.device.confirm(VERSION);
    const last = (await rig.ended(ID)) as { device_seq?: number };
    rig.store.acknowledge(ID, last.device_seq ?? 0);
    await rig.restartAfter(() => inStore("DELETE FROM history"));
    expect(rig.events(ID)).toEqual([]);
    expect(rig.store.deployments()).toEqual([]);
  });

  it("in its own record goes on, and says so at its end", async () => {
    await onTrial();
    await rig.until("the trial to be told", () => rig.events(ID).some(({ step }) => step === "verifying"));
    expect(await rig.restartAfter(() => inStore("UPDATE deployments SET record = '[]'"))).toEqual([VERSION]);
    await rig.device.confirm(VERSION);
    expect(await rig.ended(ID)).toMatchObject({ status: "Success", details: { store_lost: true } });
  });

  it("and which a person has brought is no deployment", async () => {
    expect(await rig.device.install(VERSION)).toMatchObject({ ok: true });
    await rig.restart();
    expect(await rig.restartAfter(() => writeFileSync(store(), "garbage".repeat(1_000)))).toEqual([
      VERSION,
      VERSION,
      "package",
    ]);
    expect(rig.store.deployments()).toEqual([]);
  });
});
