import { DatabaseSync } from "node:sqlite";
import { tempDir } from "../../support/temp-dir.ts";
import { type Bench, atMost } from "../result.ts";
import { KeepAliveClient, requestFor } from "./keep-alive-client.ts";
import { percentile } from "./percentile.ts";
import { addAccount, prepareData, startService, withStore } from "./service.ts";

const LONG_LIST_ASSETS = 100_000;
const SHORT_LIST_ASSETS = 100;
const PAGE = 50;
const MAX_RATIO = 3;

/** Time of one page of a long list, at any position, compared with one of a short list on the same server. */
export const assetList: Bench = {
  name: "asset-list",
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const folder = owner.use(await tempDir()).path;
    const { many, few } = await withStore(folder, async (store) => ({
      many: await addAccount(store),
      few: await addAccount(store),
    }));
    const { database } = await prepareData(folder);
    addAssets(database, many.accountId, LONG_LIST_ASSETS);
    addAssets(database, few.accountId, SHORT_LIST_ASSETS);
    const service = owner.use(await startService(folder));
    const client = owner.use(await KeepAliveClient.connect(service));

    const times: Record<"many" | "few", number[]> = { many: [], few: [] };
    const longList = new ListReader(client, service, many.apiKey);
    const shortList = new ListReader(client, service, few.apiKey);
    const rounds = quick ? 300 : (2 * LONG_LIST_ASSETS) / PAGE;
    const warmUp = 200;
    for (let round = 0; round < warmUp + rounds; round++) {
      const took = { many: await longList.nextPage(), few: await shortList.nextPage() };
      if (round < warmUp) continue;
      times.many.push(took.many);
      times.few.push(took.few);
    }
    const [p99, reference] = [percentile(times.many, 99), percentile(times.few, 99)];
    const ratio = p99 / reference;
    const p50 = { many: percentile(times.many, 50), few: percentile(times.few, 50) };
    return {
      data: { rounds, p99: { many: p99, few: reference }, p50 },
      rows: [
        {
          what: `edge-control: page of ${PAGE} out of ${LONG_LIST_ASSETS} assets, p99 of ${rounds}`,
          value: `${p99.toFixed(2)} ms`,
          reference: `out of ${SHORT_LIST_ASSETS} assets: ${reference.toFixed(2)} ms`,
          ratio,
          target: atMost(MAX_RATIO, "x", ratio),
        },
      ],
    };
  },
};

/** Reads a list page by page, starting over after the last page. */
class ListReader {
  readonly #client: KeepAliveClient;
  readonly #target: {
    readonly host: string;
    readonly port: number;
    readonly headers: Readonly<Record<string, string>>;
  };
  #cursor: string | null = null;

  constructor(
    client: KeepAliveClient,
    { host, port }: { readonly host: string; readonly port: number },
    apiKey: string,
  ) {
    this.#client = client;
    this.#target = { host, port, headers: { "X-API-Key": apiKey } };
  }

  /** Reads a page and returns its duration in milliseconds. */
  async nextPage(): Promise<number> {
    const query = new URLSearchParams({ limit: String(PAGE), ...(this.#cursor !== null && { cursor: this.#cursor }) });
    const request = requestFor({ ...this.#target, path: `/v1/assets?${query.toString()}` });
    const start = performance.now();
    const body = await this.#client.ask(request);
    const took = performance.now() - start;
    const page = JSON.parse(body) as { assets: unknown[]; next_cursor: string | null };
    if (page.assets.length !== PAGE) throw new Error(`a page has ${page.assets.length} assets`);
    this.#cursor = page.next_cursor;
    return took;
  }
}

/** Writes assets with a Super SIM each in one transaction: single registrations would take most of a minute. */
function addAssets(path: string, accountId: string, count: number): void {
  using database = new DatabaseSync(path);
  database.exec("BEGIN; CREATE TEMP TABLE fleet (uuid TEXT, serial TEXT, sid TEXT, iccid TEXT, at INTEGER)");
  database
    .prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $count)
       INSERT INTO fleet SELECT printf('%08x-0000-7000-8000-%012x', i, $count),
         printf('GW-%d-%06d', $count, i), printf('HS%d-%06d', $count, i), printf('8988307%06d%06d', $count, i),
         1790000000 + i FROM n`,
    )
    .run({ $count: count });
  database
    .prepare(
      `INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at)
       SELECT uuid, ?, serial, 'Gateway ' || serial, 'gateway', at FROM fleet`,
    )
    .run(accountId);
  database.exec(`
    INSERT INTO sims (asset_uuid, kind, iccid, sid, network_group, status)
      SELECT uuid, 'supersim', iccid, sid, 'default_1gb', 'active' FROM fleet;
    INSERT INTO identifiers (value, asset_uuid)
      SELECT uuid, uuid FROM fleet UNION ALL SELECT serial, uuid FROM fleet
      UNION ALL SELECT sid, uuid FROM fleet UNION ALL SELECT iccid, uuid FROM fleet;
    DROP TABLE fleet; COMMIT`);
}
