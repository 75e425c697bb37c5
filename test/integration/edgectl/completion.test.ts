import { describe, expect, test } from "vitest";
import { succeed } from "../../support/command.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";

/** Returns bash's completions of the last word of a command line. */
async function complete(script: string, ...words: string[]): Promise<string[]> {
  const line = words.map((word) => `'${word}'`).join(" ");
  const ask = `COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _edgectl; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const offered = await succeed("bash", ["--norc", "-c", `${script}\n${ask}`]);
  return offered.split("\n").filter((word) => word !== "");
}

describe("edgectl completion", () => {
  test("completes commands, options and their values in bash", async () => {
    await using user = await edgectlUser();
    const { code, stdout: script } = await user.run(["completion", "bash"]);
    expect(code).toBe(0);
    expect(await complete(script, "edgectl", "")).toEqual(
      expect.arrayContaining(["login", "assets", "deploy", "apply"]),
    );
    expect(await complete(script, "edgectl", "de")).toEqual(["deploy", "deployments", "device"]);
    expect(await complete(script, "edgectl", "assets", "")).toEqual([
      "list",
      "show",
      "history",
      "health",
      "create",
      "code",
      "accept",
      "update",
      "update-agent",
      "tag",
      "hold",
      "release",
    ]);
    expect(await complete(script, "edgectl", "rollouts", "r")).toEqual(["retry", "resume", "rollback"]);
    expect(await complete(script, "edgectl", "deployments", "watch", "GW-1", "--re")).toEqual(["--retry-for"]);
    expect(await complete(script, "edgectl", "usage", "GW-1", "--sim", "")).toEqual(["supersim", "prosim"]);
    expect(await complete(script, "edgectl", "--json", "usage", "--granularity", "m")).toEqual(["month"]);
    expect(await complete(script, "edgectl", "apps", "st")).toEqual(["stop", "start", "stats"]);
    expect(await complete(script, "edgectl", "apps", "update", "GW-1", "web", "--restart", "")).toContain("on-failure");
    expect(await complete(script, "edgectl", "completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(await complete(script, "edgectl", "deploy", "GW-1", "--file", "")).toEqual([]);
  });

  test.each(["zsh", "fish"])("the script for %s names every command and option", async (shell) => {
    await using user = await edgectlUser();
    const { stdout } = await user.run(["completion", shell]);
    for (const word of ["assets", "watch", "retry-for", "granularity", "supersim prosim"])
      expect(stdout).toContain(word);
  });

  test("an unsupported shell is wrong usage", async () => {
    await using user = await edgectlUser();
    expect((await user.run(["completion", "cmd"])).code).toBe(2);
  });
});

describe("edgectl's help", () => {
  test.each([
    [[]],
    [["deploy"]],
    [["usage"]],
    [["login"]],
    [["completion"]],
    [["deployments", "cancel"]],
    [["apps"]],
    [["apps", "update"]],
    [["apply"]],
    [["apps", "logs"]],
    [["data-usage"]],
    [["fleets", "apply"]],
    [["rollouts", "create"]],
    [["variables", "set"]],
    [["assets", "create"]],
    [["assets", "code"]],
    [["assets", "accept"]],
  ])("%j is readable at 80 columns and documents the exit codes at the top", async (path) => {
    await using user = await edgectlUser();
    const { code, stdout, stderr } = await user.run([...path, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    if (path.length === 0) expect(stdout).toContain("130  interrupted");
  });

  test.each([
    [["deploi"], "Unknown command 'deploi' (Did you mean deploy?)"],
    [["deploy"], "Missing required argument 'asset'"],
    [["deploy", "GW-1", "--port", "80"], "HOST:TARGET"],
    [["assets", "list", "--limit", "0"], "from 1 to 200"],
    [["assets", "list", "--limit", "ten"], "from 1 to 200"],
    [["usage", "GW-1"], "--sim"],
    [["usage", "GW-1", "--sim", "supersim", "--from", "soon"], "2026-11-01"],
    [["assets", "show", ".."], "is not an identifier"],
  ])("%j is wrong usage: exit code 2 and what to write instead", async (args, text) => {
    await using user = await edgectlUser();
    const env = { EDGECTL_URL: "http://127.0.0.1:9", EDGECTL_API_KEY: "ek_x" };
    const { code, stdout, stderr } = await user.run(args, { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(text);
    const asJson = await user.run([...args, "--json"], { env });
    expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { exit_code: 2 } });
  });
});
