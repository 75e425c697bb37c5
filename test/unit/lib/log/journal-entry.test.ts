import fc from "fast-check";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { journalEntry, journalTarget, MAX_ENTRY_BYTES } from "../../../../src/lib/log/journal-entry.ts";
import { openDatagramSender } from "../../../../src/lib/unix-datagram.ts";
import { DatagramReceiver } from "../../../support/datagram-receiver.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const line = (fields: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify({ level: "warn", time: "2026-11-20T12:00:00.000Z", name: "edge-agent", ...fields })}\n`;

/** Decodes an entry as the journal does. */
function parse(entry: Uint8Array | undefined): Map<string, string> {
  const rest = Buffer.from(entry ?? new Uint8Array());
  const fields = new Map<string, string>();
  for (let at = 0; at < rest.length;) {
    const end = rest.indexOf("\n", at);
    expect(end).toBeGreaterThan(at);
    const head = rest.toString("utf8", at, end);
    const equals = head.indexOf("=");
    if (equals > 0) {
      fields.set(head.slice(0, equals), head.slice(equals + 1));
      at = end + 1;
    } else {
      const length = Number(rest.readBigUInt64LE(end + 1));
      fields.set(head, rest.toString("utf8", end + 9, end + 9 + length));
      expect(rest[end + 9 + length]).toBe(10);
      at = end + 10 + length;
    }
  }
  return fields;
}

describe("an entry for the journal", () => {
  it("has the readable message, and the fields to search by", () => {
    const fields = parse(
      journalEntry(
        line({ deployment: "dep_1", app: "node-red", step: "pulling", code: "ImagePullBackOff", msg: "no" }),
      ),
    );
    expect(Object.fromEntries(fields)).toEqual({
      MESSAGE: "no deployment=dep_1 app=node-red step=pulling code=ImagePullBackOff",
      PRIORITY: "4",
      SYSLOG_IDENTIFIER: "edge-agent",
      SYSLOG_PID: String(process.pid),
      EDGE_DEPLOYMENT: "dep_1",
      EDGE_APP: "node-red",
      EDGE_STEP: "pulling",
      EDGE_CODE: "ImagePullBackOff",
    });
  });

  it("uses one name for aliases", () => {
    expect(parse(journalEntry(line({ deployment_id: "dep_1", msg: "" }))).get("EDGE_DEPLOYMENT")).toBe("dep_1");
  });

  it("keeps the lines of a stack together, out of the message", () => {
    const err = { type: "Error", message: "it broke", stack: "Error: it broke\n    at somewhere" };
    const fields = parse(journalEntry(line({ err, msg: "failed" })));
    expect(fields.get("MESSAGE")).toBe('failed err="it broke"');
    expect(fields.get("EDGE_ERROR_STACK")).toBe(err.stack);
  });

  it("is undefined for text that is not a log line", () => {
    expect(journalEntry("plain")).toBeUndefined();
    expect(journalEntry("[1]")).toBeUndefined();
  });

  it("says how much of a long message was left out", () => {
    const message = parse(journalEntry(line({ msg: "ä".repeat(100_000) }))).get("MESSAGE") ?? "";
    expect(message).toMatch(/^ä+ \[\d+ bytes left out\]$/);
    const [, leftOut] = /\[(\d+)/.exec(message) ?? [];
    expect(Number(leftOut) + Buffer.byteLength(message.replace(/ \[.*/, ""))).toBe(200_000);
  });

  it("can be decoded for any content, and is never too long", () => {
    const text = fc.string({ unit: "binary", maxLength: 40_000 });
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ maxLength: 100 }), fc.oneof(text, fc.jsonValue()), { maxKeys: 90 }),
        (more) => {
          const entry = journalEntry(line({ ...more, msg: "m", level: "info", name: "edge-agent" }));
          expect(entry?.length).toBeLessThanOrEqual(MAX_ENTRY_BYTES);
          const fields = parse(entry);
          expect(fields.get("PRIORITY")).toBe("6");
          expect([...fields.keys()].filter((name) => !/^[A-Z][A-Z0-9_]{0,63}$/.test(name))).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("writing into the journal", () => {
  it("uses datagrams, and standard output as a fallback", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "journal");
    using sender = openDatagramSender();
    const written: string[] = [];
    const target = journalTarget({ write: (text) => void written.push(text) }, sender, path);
    target.write(line({ app: "web", msg: "nobody there" }));
    {
      using receiver = new DatagramReceiver(path);
      target.write(line({ app: "web", msg: "there" }));
      expect(receiver.take()).toContain("MESSAGE=there app=web\n");
    }
    target.write(line({ msg: "gone for a restart" }));
    using again = new DatagramReceiver(path);
    target.write(line({ msg: "back" }));
    expect(again.take()).toContain("MESSAGE=back\n");
    target.write("no line of a log\n");
    expect(written).toEqual(["<4>nobody there app=web\n", "<4>gone for a restart\n", "no line of a log\n"]);
  });

  it("uses standard output if datagrams cannot be sent", () => {
    const written: string[] = [];
    journalTarget({ write: (text) => void written.push(text) }, undefined).write(line({ msg: "hello" }));
    expect(written).toEqual(["<4>hello\n"]);
  });
});
