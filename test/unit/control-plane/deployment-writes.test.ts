import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { appendEvent } from "../../../src/control-plane/core/event-log.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { receivedDeployment, T0 } from "../../support/deployment-record.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";

// Other than the store would write it.
const STORED = '{ "name":  "web" }';

test("an event does not write the specification again, and a summary does not read it", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "database");
  await using store = openStore(path);
  await store.accounts.createAccount({ id: "acc_1", name: "x", createdAt: 0 });
  const { lastEvent, ...deployment } = receivedDeployment({ accountId: "acc_1" });
  using database = new DatabaseSync(path);
  await createDeployment(store.deployments, { ...deployment, lastSeq: 0, lastEvent: undefined }, lastEvent!);
  const spec = () => database.prepare("SELECT spec FROM deployments").get()?.["spec"];
  database.prepare("UPDATE deployments SET spec = ?").run(STORED);
  await updateDeployment(store.deployments, deployment.id, (current) =>
    appendEvent(current, { status: "Running", message: "x", step: "pulling" }, T0),
  );
  expect(spec()).toBe(STORED);
  database.prepare("UPDATE deployments SET spec = 'no JSON'").run();
  expect(await store.deployments.findSummary(deployment.id)).toMatchObject({ state: { kind: "sending" } });
  expect(await store.deployments.listUnfinishedSummaries(deployment.assetUuid)).toHaveLength(1);
});
