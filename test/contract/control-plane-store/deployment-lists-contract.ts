import { expect, test } from "vitest";
import type { DeploymentListCursor, DeploymentOrder } from "../../../src/control-plane/core/cursor.ts";
import type { Deployment } from "../../../src/control-plane/core/deployment.ts";
import type { DeploymentFilter } from "../../../src/control-plane/store/deployment-lists.ts";
import { MAX_PAGE_BYTES } from "../../../src/control-plane/store/deployments.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { parseSelector } from "../../../src/protocol/fleets/selector.ts";
import { commandOf, failed, receivedDeployment, SUCCEEDED, T0 } from "../../support/deployment-record.ts";
import { createDeployment } from "../../support/store-deployment.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { ACCOUNT, describeDomain, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

async function create(store: Store, fields: Partial<Deployment>): Promise<void> {
  const { lastEvent, ...deployment } = receivedDeployment(fields);
  if (!lastEvent) throw new Error("a received deployment has had an event");
  const first = { ...lastEvent, deployment_id: deployment.id };
  await createDeployment(store.deployments, { ...deployment, lastSeq: 0, lastEvent: undefined }, first);
}

/** Lists all pages; `pages` says how many deployments each had. */
async function listAll(
  store: Store,
  filter: DeploymentFilter,
  { order = "created", limit = 2 }: { order?: DeploymentOrder; limit?: number } = {},
): Promise<{ readonly ids: readonly string[]; readonly pages: readonly number[] }> {
  const ids: string[] = [];
  const pages: number[] = [];
  let after: DeploymentListCursor | undefined;
  do {
    const page = await store.deploymentLists.listOfAccount(ACCOUNT, order, filter, limit, after);
    ids.push(...page.deployments.map(({ id }) => id));
    pages.push(page.deployments.length);
    after = page.next;
  } while (after);
  return { ids, pages };
}

const ended = (status: "Success" | "Fail", at: number): Partial<Deployment> => ({
  state: { ...(status === "Success" ? SUCCEEDED : failed()), finishedAtMs: T0 + at },
  finishDueMs: undefined,
  replyDueMs: undefined,
});

/** Contract of the lists of the deployments of an account. */
export function deploymentListsContract(harness: StoreHarness): void {
  describeDomain("lists of deployments", harness, () => {
    test("have the deployments of the account, newest first, page by page, with what filters ask for", async () => {
      await using store = await openWithAccounts(harness);
      await create(store, { id: "dep_1", app: "web", createdAtMs: T0 + 1, ...ended("Success", 10) });
      await create(store, { id: "dep_2", app: "db", createdAtMs: T0 + 2, ...ended("Fail", 5) });
      await create(store, { id: "dep_3", app: "web", createdAtMs: T0 + 3 });
      // At the same time: by their ids.
      await create(store, { id: "dep_5", app: "web", createdAtMs: T0 + 4, ...ended("Fail", 6) });
      await create(store, { id: "dep_4", app: "db", createdAtMs: T0 + 4 });
      await create(store, { id: "dep_9", accountId: "acc_2", createdAtMs: T0 + 5 });
      const ids = async (filter: DeploymentFilter) => (await listAll(store, filter)).ids;
      expect(await listAll(store, {})).toEqual({
        ids: ["dep_5", "dep_4", "dep_3", "dep_2", "dep_1"],
        pages: [2, 2, 1],
      });
      expect(await listAll(store, {}, { limit: 5 })).toMatchObject({ pages: [5] });
      expect(await ids({ app: "web" })).toEqual(["dep_5", "dep_3", "dep_1"]);
      expect(await ids({ status: "Fail" })).toEqual(["dep_5", "dep_2"]);
      expect(await ids({ status: "Running" })).toEqual(["dep_4", "dep_3"]);
      expect(await ids({ status: "Success" })).toEqual(["dep_1"]);
      expect(await ids({ app: "web", status: "Fail" })).toEqual(["dep_5"]);
      expect(await ids({ sinceMs: T0 + 3 })).toEqual(["dep_5", "dep_4", "dep_3"]);
      expect(await ids({ sinceMs: T0 + 3, app: "db" })).toEqual(["dep_4"]);
      expect(await ids({ app: "none" })).toEqual([]);
    });

    test("are in the order of changes, with a deployment at its request and again at its end", async () => {
      await using store = await openWithAccounts(harness);
      await create(store, { id: "dep_1", app: "web", createdAtMs: T0 + 1, ...ended("Success", 10) });
      await create(store, { id: "dep_2", app: "db", createdAtMs: T0 + 2, ...ended("Fail", 5) });
      await create(store, { id: "dep_3", app: "web", createdAtMs: T0 + 3 });
      const ids = async (filter: DeploymentFilter) => (await listAll(store, filter, { order: "changed" })).ids;
      expect(await ids({})).toEqual(["dep_3", "dep_2", "dep_1"]);
      expect(await ids({ sinceMs: T0 + 4 })).toEqual(["dep_2", "dep_1"]);
      expect(await ids({ app: "web" })).toEqual(["dep_3", "dep_1"]);
      expect(await ids({ status: "Fail" })).toEqual(["dep_2"]);
    });

    test("of assets that match a selector now have those, and also those of assets that are gone without one", async () => {
      await using store = await openWithAccounts(harness);
      const kiosk = await register(store, someAsset());
      const other = await register(store, someAsset());
      await store.assetSettings.changeTags(kiosk.uuid, new Map([["role", "kiosk"]]), false, someAudit("asset.tagged"));
      await create(store, { id: "dep_1", assetUuid: kiosk.uuid, createdAtMs: T0 + 1 });
      await create(store, { id: "dep_2", assetUuid: other.uuid, createdAtMs: T0 + 2 });
      await create(store, { id: "dep_3", assetUuid: kiosk.uuid, createdAtMs: T0 + 3, app: "db" });
      await create(store, { id: "dep_4", assetUuid: "22222222-2222-4222-8222-222222222222", createdAtMs: T0 + 4 });
      const parsed = parseSelector("role=kiosk");
      if (!parsed.ok) throw new Error(parsed.reason);
      expect((await listAll(store, { selector: parsed.terms })).ids).toEqual(["dep_3", "dep_1"]);
      expect((await listAll(store, { selector: parsed.terms, app: "db" })).ids).toEqual(["dep_3"]);
      expect((await listAll(store, {})).ids).toEqual(["dep_4", "dep_3", "dep_2", "dep_1"]);
    });

    test("end a page with large specifications early, and never leave one out", async () => {
      await using store = await openWithAccounts(harness);
      const spec = { name: "web", environments: [{ key: "A", value: "x".repeat(MAX_PAGE_BYTES / 2) }] };
      for (const [index, id] of ["dep_1", "dep_2", "dep_3"].entries())
        await create(store, { id, createdAtMs: T0 + index, command: commandOf("deploy", spec) });
      expect(await listAll(store, {}, { limit: 10 })).toEqual({ ids: ["dep_3", "dep_2", "dep_1"], pages: [2, 1] });
    });
  });
}
