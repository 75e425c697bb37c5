import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { importUsage } from "../../../../src/control-plane/sims/import-usage.ts";
import { BadLineError } from "../../../../src/control-plane/sims/read-records.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../../src/control-plane/store/store.ts";
import { someProSim, someSuperSim } from "../../../support/control-plane/sims.ts";

const HEADER = "iccid,network_group_or_service_profile,start_time,end_time,bytes";
const SUPER = "8988307001000000001";
const PRO = "8988307002000000002";
const NOW = 1_800_000_000;
const RANGE = { start: 0, end: 1_000_000 };

async function storeWithSims(): Promise<Store> {
  const store = openStore(":memory:");
  await store.accounts.createAccount({ id: "acc_1", name: "test", createdAt: 0 });
  const asset = {
    uuid: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11",
    accountId: "acc_1",
    serialNumber: "S",
    name: "S",
    type: "",
    createdAt: 0,
    supersim: someSuperSim({ iccid: SUPER }),
    prosim: someProSim({ iccid: PRO }),
  };
  await store.assets.registerAsset(asset, new Uint8Array([1]));
  return store;
}

const load = (store: Store, text: string, skipUnknown = false) =>
  importUsage(store, Readable.from([text]), { skipUnknown, now: NOW });

test("imports both kinds of SIM, and the same file again changes nothing", async () => {
  await using store = await storeWithSims();
  const file = `${HEADER}\n${SUPER},default_1gb,0,3600,5\n${SUPER},default_10gb,0,3600,6\n${PRO},gold,3600,7200,7\n`;
  for (const imported of [3, 0]) {
    expect(await load(store, file)).toEqual({ imported, unchanged: 3 - imported, skipped: 0 });
    expect(await store.usage.sumUsage(SUPER, RANGE, "all")).toEqual([
      { bucket: "default_10gb", periodStart: undefined, bytes: 6 },
      { bucket: "default_1gb", periodStart: undefined, bytes: 5 },
    ]);
    expect(await store.usage.sumUsage(PRO, RANGE, "all")).toEqual([
      { bucket: "gold", periodStart: undefined, bytes: 7 },
    ]);
  }
});

test("a corrected record replaces the earlier one", async () => {
  await using store = await storeWithSims();
  await load(store, `${HEADER}\n${SUPER},default_1gb,0,3600,5\n`);
  const corrected = await load(store, `${HEADER}\n${SUPER},default_1gb,0,3600,9\n${SUPER},default_1gb,0,3600,9\n`);
  expect(corrected).toEqual({ imported: 1, unchanged: 1, skipped: 0 });
  expect(await store.usage.sumUsage(SUPER, RANGE, "all")).toEqual([
    { bucket: "default_1gb", periodStart: undefined, bytes: 9 },
  ]);
});

test("reads what spreadsheets write: byte order mark, CRLF, quotes, empty lines, no last line end", async () => {
  await using store = await storeWithSims();
  const file = `\uFEFF${HEADER}\r\n\r\n"${SUPER}","default_1gb", 0 ,3600,5\r\n${PRO},gold,0,3600,7`;
  expect(await load(store, file)).toEqual({ imported: 2, unchanged: 0, skipped: 0 });
});

test.each([
  ["", 1, "header"],
  ["\n\n", 1, "header"],
  ["iccid,bytes\n", 1, "header"],
  [`${HEADER.replace("bytes", "Bytes")}\n`, 1, "header"],
  [`${HEADER}\n${SUPER},default_1gb,0,3600\n`, 2, "4 values in place of 5"],
  [`${HEADER}\n${SUPER},default_1gb,0,3600,5,6\n`, 2, "6 values in place of 5"],
  [`${HEADER}\n${SUPER},default_1gb,0,3600,5\n\n${SUPER},default_1gb,x,3600,5\n`, 4, "start_time: must be an integer"],
  [`${HEADER}\n${SUPER},default_1gb,0,3600,-5\n`, 2, "bytes: must be from 0 to 1099511627776"],
  [`${HEADER}\n${SUPER},default_1gb,0,3600,1.5\n`, 2, "bytes: must be an integer"],
  [`${HEADER}\n${SUPER},default_1gb,0,3600,${2 ** 40 + 1}\n`, 2, "bytes"],
  [`${HEADER}\n${SUPER},default_1gb,3600,3600,5\n`, 2, "start_time: must be before end_time"],
  [`${HEADER}\n${SUPER},default_1gb,${NOW + 1},${NOW + 9},5\n`, 2, "start_time: must not be in the future"],
  [`${HEADER}\n${SUPER},default_1gb,0,2000000000,5\n`, 2, "end_time: must not be more than a month in the future"],
  [`${HEADER}\n${SUPER},,0,3600,5\n`, 2, "network_group_or_service_profile"],
  [`${HEADER}\nnon sense,default_1gb,0,3600,5\n`, 2, "iccid"],
  [`${HEADER}\n8988307009999999999,default_1gb,0,3600,5\n`, 2, "no asset has a SIM with the ICCID 8988307009999999999"],
  [`${HEADER}\n${SUPER},"default_1gb,0,3600,5\n`, 2, "Quote Not Closed"],
  [`${HEADER}\n${"9".repeat(5000)},default_1gb,0,3600,5\n`, 2, "longer than 1024 bytes"],
])("names the bad line of %j", async (text, line, reason) => {
  await using store = await storeWithSims();
  const failure = await load(store, text).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(BadLineError);
  expect(failure).toMatchObject({ line });
  expect((failure as Error).message).toMatch(new RegExp(`^line ${line}: .*${reason.replaceAll(/[()]/g, ".")}`));
});

test("names all bad lines, up to a bound, and the one after which nothing can be read", async () => {
  await using store = await storeWithSims();
  const good = `${SUPER},default_1gb,0,3600,5`;
  const rows = [
    good,
    "a,b,c",
    good,
    `${SUPER},default_1gb,0,3600,x`,
    "8988307009999999999,default_1gb,0,1,5",
    'x,"open',
  ];
  await expect(load(store, [HEADER, ...rows].join("\n"))).rejects.toThrow(
    /^line 3: 3 values in place of 5\nline 5: bytes: must be an integer\nline 6: no asset has a SIM with .*\nline 7: Quote Not Closed/,
  );
  const many = [HEADER, ...Array<string>(70).fill("bad")].join("\n");
  await expect(load(store, many)).rejects.toThrow(/^(line \d+: .*\n){50}and 20 more lines$/);
  expect(await store.usage.sumUsage(SUPER, RANGE, "all")).toEqual([]);
});

test("all or nothing: a bad last line keeps every line before it out", async () => {
  await using store = await storeWithSims();
  const good = Array.from({ length: 5000 }, (_, index) => `${SUPER},default_1gb,${index},${index + 1},1`);
  await expect(load(store, [HEADER, ...good, "bad"].join("\n"))).rejects.toThrow("line 5002:");
  expect(await store.usage.sumUsage(SUPER, RANGE, "all")).toEqual([]);
});

test("SIMs that no asset has are left out when asked, and counted", async () => {
  await using store = await storeWithSims();
  const unknown = "8988307009999999999";
  const file = `${HEADER}\n${unknown},default_1gb,0,3600,5\n${SUPER},default_1gb,0,3600,5\n${unknown},default_1gb,1,2,5\n`;
  expect(await load(store, file, true)).toEqual({ imported: 1, unchanged: 0, skipped: 2 });
});

test("a source that fails is told as it is", async () => {
  await using store = await storeWithSims();
  const source = new Readable({
    read() {
      this.destroy(new Error("disk on fire"));
    },
  });
  await expect(importUsage(store, source, { skipUnknown: false, now: NOW })).rejects.toThrow("disk on fire");
});

test("whatever a file holds, it is imported whole or refused with the number of a line in it", async () => {
  const cell = fc.oneof(fc.constantFrom(SUPER, PRO, "default_1gb", "0", "1", "3600", "", '"', "\\"), fc.string());
  const lines = fc.array(
    fc.array(cell, { maxLength: 6 }).map((cells) => cells.join(",")),
    { maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(lines, async (rows) => {
      await using store = await storeWithSims();
      const text = [HEADER, ...rows].join("\n");
      try {
        await load(store, text);
      } catch (error) {
        expect(error).toBeInstanceOf(BadLineError);
        expect((error as BadLineError).line).toBeGreaterThan(0);
        expect((error as BadLineError).line).toBeLessThanOrEqual(text.split(/\r\n|\r|\n/).length);
      }
    }),
    { numRuns: 200 },
  );
});
