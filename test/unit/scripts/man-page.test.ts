import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { manPage } from "../../../scripts/docs/man-page.ts";
import { paragraphs, roff } from "../../../scripts/docs/roff.ts";
import { MEASURE_COMMAND } from "../../../src/agent/telemetry/command.ts";
import { run } from "../../support/command.ts";

const PAGE = "man/edge-agent.8";

describe("the manual page", () => {
  it("describes every command that help shows, and no hidden one", async () => {
    const page = await manPage();
    for (const command of ["run", "status", "app", "logs", "doctor", "enroll", "config check", "config show"]) {
      expect(page).toContain(`.SS "edge\\-agent ${roff(command)} `);
    }
    expect(page).not.toContain(`edge\\-agent ${roff(MEASURE_COMMAND)}`);
    for (const option of ["\\-\\-json", "\\-\\-config", "\\-\\-token\\-file", "\\-\\-code"]) {
      expect(page.split("\n").some((line) => line.startsWith(".B ") && line.includes(option))).toBe(true);
    }
    expect(page).toMatch(/\.B 130\n/);
  });

  it.skipIf(!existsSync("/usr/bin/man"))("is one that man has no complaint about", async () => {
    const { code, stdout, stderr } = await run("man", ["--warnings", "-l", "-P", "cat", PAGE], {
      env: { LC_ALL: "C.UTF-8", MANWIDTH: "80" },
    });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("journalctl EDGE_APP=node-red");
  });

  it("escapes lines that look like roff requests", () => {
    expect(paragraphs(".SH x\n  'a' \\b")).toEqual([".PP", "\\&.SH x", ".RS 4\n.nf", "\\(aqa\\(aq \\eb", ".fi\n.RE"]);
  });
});
