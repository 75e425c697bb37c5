import type { AssetOrder } from "../../../../src/protocol/assets/asset-request.ts";
import type { SelectorTerm } from "../../../../src/protocol/fleets/selector.ts";
import type { DeploymentOrder } from "../../../../src/control-plane/core/cursor.ts";
import type { AssetFilter } from "../../../../src/control-plane/store/assets.ts";
import type { DeploymentFilter } from "../../../../src/control-plane/store/deployment-lists.ts";
import type { Store } from "../../../../src/control-plane/store/store.ts";
import { ACCOUNT, assetUuid, createdAt, FEW, NOW } from "./rows.ts";

const PAGE = 50;
const TIME = { now: NOW, notSeenBefore: NOW - 7 * 86_400, serviceNowMs: NOW * 1000 };

/** One page of a list, as the HTTP API reads it. */
export interface List {
  readonly name: string;
  /** Reads the page of a store with so many rows, and returns how many entries it has. */
  readonly read: (store: Store, rows: number) => Promise<number>;
  /** What bounds a page out of many that takes longer than one out of few. */
  readonly bound?: string | undefined;
}

/** Part of the rows before the page. */
const POSITIONS = { start: 0, middle: 0.5, end: 0.9 } as const;

const terms = (...pairs: readonly (readonly [key: string, value: string])[]): readonly SelectorTerm[] =>
  pairs.map(([key, value]) => ({ op: "in", key, values: [value] }));

const ASSET_FILTERS: Readonly<Record<string, Partial<AssetFilter>>> = {
  "status=active (90 %)": { status: "active" },
  "status=inactive (10 %)": { status: "inactive" },
  "type (10 %)": { type: "camera" },
  [`type (${FEW})`]: { type: "rare" },
  [`q (${FEW})`]: { text: "rare" },
  "connected=true (10 %)": { connected: true },
  "connected=false (90 %)": { connected: false },
  "attention=any (1 %)": { attention: "any" },
  [`attention=update_waiting (${FEW})`]: { attention: "update_waiting" },
  [`accepted=false (${FEW})`]: { accepted: false },
  [`agent_version (${FEW})`]: { agentVersion: "0.9.0" },
  "tag (25 %)": { selector: terms(["region", "north"]) },
  [`tag (${FEW})`]: { selector: terms(["site", "rare"]) },
  "two terms (25 %, 25 %)": { selector: terms(["region", "north"], ["line", "a"]) },
  [`two terms (25 %, ${FEW})`]: { selector: terms(["region", "north"], ["site", "rare"]) },
  "two terms that none has both of (25 %, 25 %)": { selector: terms(["region", "north"], ["line", "none"]) },
  "not_in (75 %)": { selector: [{ op: "not_in", key: "region", values: ["north"] }] },
};

/** Lists of which few rows, or none, match, and no index finds them. */
const BOUNDS: Readonly<Record<string, string>> = {
  [`q (${FEW})`]: "10,000 assets",
  "two terms that none has both of (25 %, 25 %)": "10,000 assets",
  [`attention=update_waiting (${FEW})`]: "assets with attention",
  " selector (25 %)": "2,000 deployments",
  [` selector (${FEW})`]: "2,000 deployments",
  " selector, status=Fail": "2,000 deployments",
  " selector that none with status=Fail has": "2,000 deployments",
};

const asset = (name: string, filter: Partial<AssetFilter>, position = 0): List => ({
  name: `assets: ${name}`,
  bound: BOUNDS[name],
  async read({ assets }, rows) {
    const order = filter.order ?? "created_at";
    const place = Math.floor(rows * position);
    const isDescending = order.startsWith("-");
    const at = createdAt(isDescending ? rows - 1 - place : place);
    const after = position === 0 ? undefined : { at, uuid: isDescending ? "" : "z" };
    const all = { status: undefined, type: undefined, text: undefined, ...filter };
    return (await assets.listAssets(ACCOUNT, all, PAGE, after, TIME)).assets.length;
  },
});

const deployment = (
  name: string,
  filter: DeploymentFilter,
  order: DeploymentOrder = "created",
  sinceAt?: number,
  bound?: string,
): List => ({
  name: `deployments: ${name}`,
  bound,
  async read({ deploymentLists }, rows) {
    const since = sinceAt === undefined ? {} : { sinceMs: createdAt(Math.floor(rows * sinceAt)) * 1000 };
    const page = await deploymentLists.listOfAccount(ACCOUNT, order, { ...filter, ...since }, PAGE);
    return page.deployments.length;
  },
});

const DEPLOYMENT_FILTERS: Readonly<Record<string, DeploymentFilter>> = {
  "": {},
  " status=Success": { status: "Success" },
  " status=Fail (5 %)": { status: "Fail" },
  [` status=Running (${FEW})`]: { status: "Running" },
  " app (10 %)": { app: "app-3" },
  [` app (${FEW})`]: { app: "rare" },
  " app, status=Fail": { app: "app-3", status: "Fail" },
  " selector (25 %)": { selector: terms(["region", "north"]) },
  [` selector (${FEW})`]: { selector: terms(["site", "rare"]) },
  " selector, status=Fail": { selector: terms(["region", "east"]), status: "Fail" },
  " selector that none with status=Fail has": { selector: terms(["region", "north"]), status: "Fail" },
};

export const LISTS: readonly List[] = [
  ...Object.entries(POSITIONS).map(([where, position]) => asset(`at the ${where}`, {}, position)),
  ...(["-created_at", "updated_at", "-updated_at"] as const satisfies readonly AssetOrder[]).flatMap((order) =>
    Object.entries(POSITIONS).map(([where, position]) => asset(`sort=${order}, at the ${where}`, { order }, position)),
  ),
  ...Object.entries(POSITIONS).map(([where, position]): List => {
    const name = `updated_since at the ${where}`;
    return {
      name: `assets: ${name}`,
      read: (store, rows) =>
        asset(name, { order: "updated_at", updatedSince: createdAt(Math.floor(rows * position)) }).read(store, rows),
    };
  }),
  ...Object.entries(ASSET_FILTERS).map(([name, filter]) => asset(name, filter)),
  ...Object.entries(DEPLOYMENT_FILTERS).map(([name, filter]) =>
    deployment(`newest${name}`, filter, "created", undefined, BOUNDS[name]),
  ),
  ...Object.entries(POSITIONS).map(([where, at]) => deployment(`since at the ${where}`, {}, "created", at)),
  ...Object.entries(POSITIONS).flatMap(([where, at]) =>
    ["", " app (10 %)", " status=Fail (5 %)", " selector (25 %)"].map((name) =>
      deployment(`updated_since at the ${where}${name}`, DEPLOYMENT_FILTERS[name] ?? {}, "changed", at),
    ),
  ),
  ...Object.entries(POSITIONS).map(([where, position]): List => ({
    name: `SIMs: at the ${where}`,
    async read({ sims }, rows) {
      const place = Math.floor(rows * position);
      const after = { createdAt: createdAt(place), assetUuid: assetUuid(place), type: "supersim" } as const;
      const filter = { type: undefined, attention: undefined };
      return (await sims.listSims(ACCOUNT, filter, PAGE + 1, position === 0 ? undefined : after)).length;
    },
  })),
  {
    name: `SIMs: attention (${FEW})`,
    read: async ({ sims }) => (await sims.listSims(ACCOUNT, { type: undefined, attention: "data" }, PAGE + 1)).length,
  },
];
