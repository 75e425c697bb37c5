import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatBytes } from "../../../src/lib/terminal/bytes.ts";
import { RateMeter } from "../../../src/edgectl/views/deployment-view.ts";
import { safeJson, sanitizeLine, sanitizeLines } from "../../../src/lib/terminal/sanitize.ts";
import { renderTable } from "../../../src/lib/terminal/table.ts";
import { shortImage } from "../../../src/lib/terminal/short-image.ts";
import { createTheme } from "../../../src/lib/terminal/theme.ts";
import { formatDuration, formatPeriod, formatTime, parseTime } from "../../../src/lib/terminal/time.ts";
import { displayWidth, truncate, wrap } from "../../../src/lib/terminal/width.ts";
import { renderApp, renderApps } from "../../../src/edgectl/views/app-view.ts";
import { renderDetails } from "../../../src/edgectl/printer.ts";
import { specFields } from "../../../src/edgectl/views/spec-fields.ts";
import { renderUsage } from "../../../src/edgectl/views/usage-view.ts";
import { appSpecSchema } from "../../../src/protocol/apps/app-spec.ts";
import { FULL } from "../../support/every-field.ts";
import { MemoryOutput } from "../../support/edgectl/memory-output.ts";

const UTF8 = { LANG: "en_GB.UTF-8" };
const plain = createTheme(new MemoryOutput(), UTF8);
const CONTROL = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u;

describe("text from outside", () => {
  test("contains nothing that a terminal acts on", () => {
    const hostile = fc.string({
      unit: fc.constantFrom(
        "\u001B",
        "[",
        "2",
        "J",
        "]",
        "0",
        ";",
        "\u0007",
        "\n",
        "\r",
        "\u009B",
        "\u202E",
        "a",
        "\b",
        "é",
      ),
    });
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: "binary" })), (text) => {
        expect(sanitizeLine(text)).not.toMatch(CONTROL);
        expect(sanitizeLines(text).join("")).not.toMatch(CONTROL);
      }),
    );
  });

  test("ordinary text of any script is unchanged; colours are removed, other control characters escaped", () => {
    expect(sanitizeLine("Größe 東京 👩‍🔧 ok")).toBe("Größe 東京 👩‍🔧 ok");
    expect(sanitizeLine("\u001B[31mred\u001B[0m\u0007 \u202Etxt")).toBe("red\\x07 \\u{202e}txt");
  });

  test("JSON for programs keeps its value and contains no control characters except line breaks", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = safeJson(value, 2);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(text.replaceAll("\n", "")).not.toMatch(CONTROL);
      }),
    );
    expect(safeJson("\u009B\u007F")).toBe(String.raw`"\u009b\u007f"`);
  });

  test("details are shown completely up to a limit, one issue per line", () => {
    const issues = [
      { path: "ports[0].host_port", reason: "must be a number" },
      { path: "", reason: "no" },
    ];
    expect(renderDetails({ issues, empty: [], log: "one\ntwo\n", nested: { a: 1, b: "x" } })).toEqual([
      "issues:",
      "  ports[0].host_port: must be a number",
      "  request: no",
      "log:",
      "  one",
      "  two",
      "nested: a 1, b x",
    ]);
    expect(renderDetails({ log: Array.from({ length: 500 }, () => "x") })).toHaveLength(41);
  });
});

describe("numbers", () => {
  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.00 kB"],
    [12_340, "12.3 kB"],
    [999_950, "1.00 MB"],
    [23_600_000, "23.6 MB"],
    [1e15, "1.00 PB"],
  ])("%d bytes are %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  test.each([
    [0.4, "0 s"],
    [59.6, "1 min"],
    [125, "2 min 5 s"],
    [7800, "2 h 10 min"],
  ])("%d seconds are %s", (seconds, text) => expect(formatDuration(seconds)).toBe(text));

  test("times are shown in UTC, and an invalid number does not throw", () => {
    expect(formatTime(1_767_225_600)).toBe("2026-01-01 00:00:00");
    expect(formatPeriod(1_767_229_200, "hour")).toBe("2026-01-01 01:00");
    expect(formatPeriod(1_767_229_200, "month")).toBe("2026-01");
    expect(formatTime(1e20)).toBe("100000000000000000000");
  });

  test.each([
    ["1767225600", 1_767_225_600],
    ["2026-01-01", 1_767_225_600],
    ["2026-01-01T01:00", 1_767_229_200],
    ["2026-01-01 01:00:01Z", 1_767_229_201],
    ["2026-01-01T01:00+01:00", 1_767_225_600],
    ["90s", 1_767_225_510],
    ["10m", 1_767_225_000],
    ["24h", 1_767_139_200],
    ["7d", 1_766_620_800],
  ])("--from %s", (text, expected) => expect(parseTime(text, 1_767_225_600_000)).toBe(expected));

  test.each(["", "yesterday", "2026-02-30", "2026-13-01", "2026-01-01T25:00", "-1", "7w"])(
    "--from %j is refused",
    (text) => {
      expect(parseTime(text, 0)).toBeUndefined();
    },
  );

  test("the rate is that of the last seconds, and restarts with a new attempt", () => {
    const meter = new RateMeter();
    meter.add(0, 0);
    expect(meter.bytesPerSecond).toBeUndefined();
    for (let second = 1; second <= 20; second++) meter.add(second * 1000, second < 10 ? 0 : (second - 10) * 2_000_000);
    expect(meter.bytesPerSecond).toBeCloseTo(2_000_000);
    meter.add(21_000, 0);
    expect(meter.bytesPerSecond).toBeUndefined();
  });
});

const DIGEST = "0123456789abcdef".repeat(4);

describe("an app", () => {
  const healthcheck = { command: ["curl", "-f", "http://localhost/a b"], interval_s: 30, timeout_s: 5, retries: 3 };
  // Every field, some with values that show how they are written.
  const { name: _name, image: _image, ports: _ports, ...fields } = FULL;
  const spec = {
    ...fields,
    environments: [{ key: "A", value: "***", secret: true }],
    devices: [
      { local: "/dev/a", permissions: "rw" },
      { local: "/dev/b", target: "/dev/c" },
    ],
    healthcheck: { ...healthcheck, start_period_s: 0 },
    entrypoint: ["/entry", "a b"],
    tmpfs: [{ target: "/run", size_bytes: 65_536, mode: "0755" }, { target: "/tmp" }],
    ulimits: [{ name: "nofile", soft: 1024, hard: 65_536 }],
    dns: ["192.0.2.53", "2001:db8::53"],
    dns_search: ["plant.local", "."],
    dns_options: ["ndots:1"],
    labels: { "com.example.team": "one\u001b[2J", b: "2" },
    stop_grace_s: 90,
    log: { max_bytes: 1_048_576, max_files: 1 },
    gpus: { ids: ["0", "1"] },
  };

  test("is shown with every field of its specification", () => {
    const shownElsewhere = new Set(["name", "image", "ports"]);
    const fields = Object.keys(appSpecSchema.shape).filter((field) => !shownElsewhere.has(field));
    expect(Object.keys(spec).toSorted()).toEqual(fields.toSorted());
    for (const [field, value] of Object.entries(spec)) expect(specFields({ [field]: value }), field).toHaveLength(1);
    expect(specFields({ name: "web", sidecar: true, memory_limit: null, privileged: false, devices: [] })).toEqual([]);
  });

  test("is shown with the options of its container, as a person reads them", () => {
    const rows = new Map(specFields(spec));
    expect(rows.get("Entrypoint")).toBe('["/entry","a b"]');
    expect(rows.get("Capabilities")).toBe("NET_ADMIN, SYS_TIME");
    expect(rows.get("In memory")).toBe("/run:size=65536,mode=0755\n/tmp");
    expect(rows.get("Process limits")).toBe("nofile=1024:65536");
    expect(rows.get("Name servers")).toBe("192.0.2.53, 2001:db8::53");
    expect(rows.get("Labels")).not.toContain("\u001b");
    expect(rows.get("Stop timeout")).toBe("1 min 30 s");
    expect(rows.get("Log")).toMatch(/^1 file of at most /);
    expect(rows.get("GPUs")).toBe("0, 1");
  });

  test("is shown with its health check and the rights to its devices", () => {
    const rows = new Map(specFields(spec));
    expect(rows.get("Health check")).toBe(
      '["curl","-f","http://localhost/a b"]\nevery 30 s, at most 5 s, unhealthy after 3 failures',
    );
    expect(rows.get("Devices")).toBe("/dev/a:/dev/a:rw\n/dev/b:/dev/c");
    expect(rows.get("Health timeout")).toBe("5 min");
    const slow = { ...healthcheck, command: ["sh", "-c", "a && b"], start_period_s: 90, retries: 1 };
    expect(new Map(specFields({ healthcheck: slow })).get("Health check")).toBe(
      "a && b\nevery 30 s, at most 5 s, unhealthy after 1 failure; failures of the first 1 min 30 s do not count",
    );
  });

  test.each([
    [`registry.example.com/web@sha256:${DIGEST}`, "registry.example.com/web@sha256:0123456789ab"],
    [`sha256:${DIGEST}`, "sha256:0123456789ab"],
    ["web:1", "web:1"],
    [`web:${DIGEST}`, `web:${DIGEST}`],
  ])("has the image %s in a table as %s", (image, expected) => {
    expect(shortImage(image)).toBe(expected);
    const app = { name: "web", image, state: "running", ports: [], spec: {} };
    expect(renderApps([app], plain, undefined)).toMatch(new RegExp(`  ${expected}$`));
    expect(renderApp({ ...app, reported_at: null, reachable: true, age_s: null }, plain)).toContain(image);
  });
});

describe("layout", () => {
  test("a truncated text never exceeds its width, and is never cut within a character", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "東", "👩‍🔧", "é", "e\u0301") });
    fc.assert(
      fc.property(text, fc.nat(12), (text, width) => {
        expect(displayWidth(truncate(text, width))).toBeLessThanOrEqual(width);
        expect(truncate(text, width)).not.toMatch(/\p{Cs}/u);
      }),
    );
    expect(truncate("Tokyo 東京 gateway", 10)).toBe("Tokyo 東…");
  });

  test("wrapped text loses nothing but spaces at the breaks", () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: 1 }),
        fc.integer({ min: 10, max: 40 }),
        (words, width) => {
          const lines = wrap(words.join(" "), width);
          expect(lines.join(" ")).toBe(words.join(" "));
          for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  test("a table shrinks to the terminal's width, and is complete in a file", () => {
    const columns = [
      { header: "ID", cell: (row: { id: string }) => row.id },
      { header: "NAME", cell: () => "東京".repeat(30), canShrink: true as const },
      { header: "N", cell: () => "1", align: "right" as const },
    ];
    const rows = [{ id: "abc" }, { id: "abcdef" }];
    for (const line of renderTable(columns, rows, plain, 40).split("\n"))
      expect(displayWidth(line)).toBeLessThanOrEqual(40);
    expect(renderTable(columns, rows, plain, undefined)).toContain("東京".repeat(30));
  });

  test("colour depends on the terminal, and characters on the locale", () => {
    const terminal = new MemoryOutput(80);
    expect(createTheme(terminal, UTF8).red("x")).toBe("\u001B[31mx\u001B[39m");
    expect(createTheme(terminal, { ...UTF8, NO_COLOR: "1" }).red("x")).toBe("x");
    expect(createTheme(terminal, { ...UTF8, TERM: "dumb" }).red("x")).toBe("x");
    expect(plain.red("x")).toBe("x");
    expect(createTheme(terminal, { LC_ALL: "C", LANG: "en_GB.UTF-8" }).barFull).toBe("#");
  });
});

describe("usage", () => {
  const DAY = 86_400;
  const start = 1_767_225_600;
  const usage = {
    start_time: start,
    end_time: start + 3 * DAY,
    finalized_until: start + DAY,
    usages: [
      { network_group: "default_1gb", total: 2_000_000, start_time: start, end_time: start + DAY },
      { network_group: "default_1gb", total: 500_000, start_time: start + DAY, end_time: start + 2 * DAY },
      { network_group: "default_1gb", total: 1, start_time: start + 2 * DAY, end_time: start + 3 * DAY },
    ],
  };

  test("is a table with bars in proportion, and marks what may still change", () => {
    expect(renderUsage(usage, "day", plain, 80)).toBe(
      [
        "2026-01-01 00:00:00 to 2026-01-04 00:00:00 UTC",
        "",
        "DAY          GROUP           TOTAL",
        `2026-01-01   default_1gb   2.00 MB  ${"█".repeat(24)}`,
        `2026-01-02*  default_1gb  500.0 kB  ${"█".repeat(6)}`,
        `2026-01-03*  default_1gb       1 B  █`,
        "",
        "Total 2.50 MB",
        "* From 2026-01-02 00:00:00 UTC on, usage may still change.",
      ].join("\n"),
    );
  });

  test("says so when there is none", () => {
    expect(renderUsage({ ...usage, usages: [] }, "all", plain, 80)).toContain("No usage in this time.");
  });
});
