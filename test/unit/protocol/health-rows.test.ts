import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HEALTH_METRICS, MAX_HEALTH_VALUE, MIN_HEALTH_VALUE } from "../../../src/protocol/link/device-health.ts";
import type { HealthRow, HealthSpreads, Spread } from "../../../src/protocol/link/health-points.ts";
import {
  HealthMessageReader,
  HealthMessageWriter,
  isHealthMessage,
} from "../../../src/protocol/link/health-message.ts";
import {
  decodeHealthRows,
  encodeHealthRows,
  HEALTH_REPORT_ROW_S,
  MAX_HEALTH_ROWS,
} from "../../../src/protocol/link/health-rows.ts";

const spread = fc
  .uniqueArray(fc.integer({ min: MIN_HEALTH_VALUE, max: MAX_HEALTH_VALUE }), { minLength: 3, maxLength: 3 })
  .map((values) => values.toSorted((a, b) => a - b) as unknown as Spread);
const flat = fc.integer({ min: MIN_HEALTH_VALUE, max: MAX_HEALTH_VALUE }).map((value): Spread => [value, value, value]);
const spreads = fc
  .tuple(...HEALTH_METRICS.map(() => fc.option(fc.oneof(spread, flat, fc.constant<Spread>([50, 50, 50])))))
  .map((values): HealthSpreads =>
    Object.fromEntries(
      HEALTH_METRICS.flatMap((metric, index) => {
        const value = values[index];
        return value ? [[metric, value]] : [];
      }),
    ),
  );

/** Rows with gaps of up to a day. */
const rows = fc
  .tuple(
    fc.nat(4_000_000),
    fc.array(fc.tuple(fc.integer({ min: 1, max: 96 }), spreads), { minLength: 1, maxLength: 50 }),
  )
  .map(([first, steps]) => {
    let slot = first;
    return steps.map(([step, each]): HealthRow => ({ at: (slot += step) * HEALTH_REPORT_ROW_S, spreads: each }));
  });

/** The first message of a session. */
const encodeHealthMessage = (some: readonly HealthRow[]) => new HealthMessageWriter().write({ rows: some, apps: [] });
const decodeHealthMessage = (message: Uint8Array) => new HealthMessageReader().read(message)?.rows;

describe("rows", () => {
  test("are decoded as they were encoded, with their gaps, in either length of interval", () => {
    fc.assert(
      fc.property(rows, (some) => {
        expect(decodeHealthMessage(encodeHealthMessage(some))).toEqual(some);
        const hours = some.map(({ at, spreads: values }) => ({ at: at * 4, spreads: values }));
        expect(decodeHealthRows(encodeHealthRows(hours, 3_600), 3_600)).toEqual(hours);
      }),
    );
  });

  test("of the messages of a session are decoded as they were encoded, each in the light of those before", () => {
    fc.assert(
      fc.property(rows, fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 20 }), (some, lengths) => {
        const [writer, reader] = [new HealthMessageWriter(), new HealthMessageReader()];
        let from = 0;
        const decoded = lengths.flatMap((length): readonly (HealthRow | string)[] => {
          const part = some.slice(from, (from += length));
          return part.length === 0 ? [] : (reader.read(writer.write({ rows: part, apps: [] }))?.rows ?? ["lost"]);
        });
        expect(decoded).toEqual(some.slice(0, from));
      }),
    );
  });

  test("have whole values within their bounds, whatever was measured", () => {
    const [row] = decodeHealthRows(
      encodeHealthRows([{ at: 900, spreads: { cpu_percent: [-1e300, 0.4, 7.5], disk_percent: [1, 2, 1e300] } }], 900),
      900,
    ) ?? [undefined];
    expect(row?.spreads).toEqual({ cpu_percent: [-200, 0, 8], disk_percent: [1, 2, 1_000] });
  });

  test("of a newer peer are understood, but for the metrics behind those known here", () => {
    // One row at 900, fourteen columns: the first has one value, 2; the others have none, but for the last: one value, -1.
    const bits = ["1", "0".repeat(23) + "1", "0001111", "01", "00101", "00".repeat(12), "01", "010"].join("");
    expect(decodeHealthRows(bytesOf(bits), 900)).toEqual([{ at: 900, spreads: { cpu_percent: [2, 2, 2] } }]);
  });
});

describe("a message of a device that lies", () => {
  test("is decoded or refused, and what is decoded is within the bounds", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => check(Uint8Array.of(4, ...noise))),
      { numRuns: 1_000 },
    );
    fc.assert(
      fc.property(rows, fc.nat(), fc.nat(255), (some, position, value) => {
        const message = encodeHealthMessage(some);
        message[1 + (position % (message.length - 1))] = value;
        check(message);
      }),
    );
  });

  test.each([
    ["that is empty", "04"],
    ["of another type", "01ff"],
    ["with a count that has no end", `04${"00".repeat(100)}`],
    [
      "that is cut off",
      Buffer.from(encodeHealthMessage([{ at: 900, spreads: { cpu_percent: [1, 2, 3] } }]).slice(0, -1)).toString("hex"),
    ],
    ["that goes on", `${Buffer.from(encodeHealthMessage([{ at: 900, spreads: {} }])).toString("hex")}00`],
    ["that is too long", `04${"ff".repeat(30_000)}`],
  ])("%s is refused", (_what, hex) => {
    expect(decodeHealthMessage(Buffer.from(hex, "hex"))).toBeUndefined();
  });

  test("with more rows than a device keeps is refused", () => {
    const many = Array.from({ length: MAX_HEALTH_ROWS + 1 }, (_, index) => ({ at: index * 900, spreads: {} }));
    expect(decodeHealthMessage(encodeHealthMessage(many.slice(1)))).toHaveLength(MAX_HEALTH_ROWS);
    expect(decodeHealthMessage(encodeHealthMessage(many))).toBeUndefined();
  });

  test("is none of a stream, and the other way round", () => {
    expect(isHealthMessage(encodeHealthMessage([{ at: 0, spreads: {} }]))).toBe(true);
    for (const type of [0, 1, 2, 3, 5]) expect(isHealthMessage(Uint8Array.of(type, 1))).toBe(false);
  });
});

function bytesOf(bits: string): Uint8Array {
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, "0");
  return Uint8Array.from({ length: padded.length / 8 }, (_, index) =>
    Number.parseInt(padded.slice(8 * index, 8 * index + 8), 2),
  );
}

/** What is decoded must be within the bounds. */
function check(message: Uint8Array): void {
  const decoded = decodeHealthMessage(message);
  if (!decoded) return;
  expect(decoded.length).toBeLessThanOrEqual(MAX_HEALTH_ROWS);
  for (const [index, { at, spreads: values }] of decoded.entries()) {
    expect(at % HEALTH_REPORT_ROW_S).toBe(0);
    if (index > 0) expect(at).toBeGreaterThan(decoded[index - 1]?.at ?? 0);
    for (const [min, mean, max] of Object.values(values)) {
      expect(MIN_HEALTH_VALUE <= min && min <= mean && mean <= max && max <= MAX_HEALTH_VALUE).toBe(true);
    }
  }
}
