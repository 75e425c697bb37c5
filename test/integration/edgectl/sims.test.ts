import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { connectLedger, SERIAL, type SimRig, startSimRig, SUPER_ICCID } from "../../support/edgectl/sim-rig.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { waitFor } from "../../support/wait-for.ts";

const MB = 1_000_000;
const update = (...args: string[]) => ["assets", "update", SERIAL, "--status", "inactive", ...args];

let rig: SimRig;

beforeEach(async () => {
  rig = await startSimRig();
  onTestFinished(() => rig[Symbol.asyncDispose]());
});

/** Past the minute in which an operator is not asked again, and the quarter of an hour of its usage. */
const later = () => rig.passTime(20 * 60);

describe("edgectl sims list", () => {
  test("lists all SIMs over pages, by type, and those whose allowance runs out", async () => {
    await rig.plane.asset(rig.account, { serialNumber: "GW-2", supersim: someSuperSim() });
    const types = async (...args: string[]) => {
      const { sims } = (await rig.json("sims", "list", ...args)) as { sims: { type: string }[] };
      return sims.map(({ type }) => type);
    };
    expect((await types()).toSorted()).toEqual(["prosim", "supersim", "supersim"]);
    expect((await types("--limit", "1", "--all")).toSorted()).toEqual(["prosim", "supersim", "supersim"]);
    expect(await types("--type", "prosim")).toEqual(["prosim"]);
    const first = await rig.run("sims", "list", "--limit", "1");
    expect(first.stderr).toContain("There are more. All of them: --all.");
    expect((await rig.run("sims", "list", "--attention")).stdout).toBe("No SIMs.\n");
    later();
    rig.use(600);
    await rig.json("sims", "allowance", SERIAL, "supersim", "500MB");
    const spent = await rig.run("sims", "list", "--attention", "data");
    expect(spent.stdout).toMatch(
      /GW-2026-000123 +supersim +\d+ +active +- +600\.0 MB of 500\.0 MB \(120 %\) +used up +/,
    );
    expect(spent.stdout.trim().split("\n")).toHaveLength(2);
    expect((await rig.run("assets", "list", "--attention", "data")).stdout).toContain(SERIAL);
  });

  test("shows the operator's words, and what is pending", async () => {
    rig.kore.schedules = true;
    await rig.run("assets", "update", SERIAL, "--network-group", "default_10gb");
    const { stdout } = await rig.run("sims", "list");
    expect(stdout).toMatch(/prosim .* active \(operator: Activated\) /);
    expect(stdout).toContain("network group default_1gb -> default_10gb, asked just now");
  });
});

describe("edgectl sims show", () => {
  test("has the operator's count beside the agent's, with the rest in words, and the age of the figures", async () => {
    later();
    rig.use(600);
    await using _device = await connectLedger(rig, 100 * MB);
    const { code, stdout, stderr } = await rig.run("sims", "show", SERIAL);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/Used this month {2}600\.0 MB, as the operator said 2100-01-15 12:2\d UTC/);
    expect(stdout).toMatch(
      /Allowance +600\.0 MB of 1\.00 GB \(60 %\) used this month\n +Source +the limit of its fleet/,
    );
    expect(stdout).toMatch(/PRO SIM\n[^]*Allowance +none: the operator says none, and none is set/);
    expect(stdout).toMatch(
      /Operator +600\.0 MB .*\n- Agent +100\.0 MB {2}control 100\.0 MB\n- Headers +40 B .*\n- Rest +500\.0 MB/,
    );
    expect(stdout).not.toContain("Warning");
    const document = await rig.json("sims", "show", SUPER_ICCID, "supersim");
    expect(document).toMatchObject({
      sims: [{ sim: { type: "supersim" }, allowance: { value: { source: "operator" } }, usage: { value: {} } }],
      comparison: { value: { operator_bytes: 600 * MB, agent_bytes: 100 * MB, other_bytes: 500 * MB - 40 } },
    });
  });

  test("warns where the agent counted more than the operator", async () => {
    rig.use(60);
    await using _device = await connectLedger(rig, 100 * MB);
    const { stdout } = await rig.run("sims", "show", SERIAL, "supersim");
    expect(stdout).toMatch(/Warning: the agent counted (?:40|100)\.0 MB more than the operator/);
  });

  test("shows what is known while an operator is away, and says what is not", async () => {
    later();
    rig.emnify.fail(/./, { kind: "status", status: 503 });
    const { code, stdout } = await rig.run("sims", "show", SERIAL);
    expect(code).toBe(0);
    expect(stdout).toContain("Used this month  not known: The SIM operator did not answer.");
    expect(stdout).toMatch(/Super SIM\n[^]*Used this month {2}0 B, as the operator said/);
    expect(stdout).toContain("Not compared: The SIM operator did not answer.");
  });

  test("of a SIM that is not there is exit code 4; a type that does not exist is exit code 2", async () => {
    await rig.plane.asset(rig.account, { serialNumber: "GW-2", supersim: someSuperSim() });
    await rig.plane.asset(rig.account, { serialNumber: "GW-3" });
    const missing = await rig.run("sims", "show", "GW-2", "prosim");
    expect([missing.code, missing.stderr]).toEqual([
      4,
      expect.stringContaining("The asset has no PRO SIM. (SimNotFound)"),
    ]);
    const none = await rig.run("sims", "show", "GW-3");
    expect([none.code, none.stderr]).toEqual([4, expect.stringContaining("The asset has no SIM.")]);
    expect((await rig.run("sims", "show", "GW-4")).code).toBe(4);
    expect((await rig.run("sims", "show", SERIAL, "esim")).code).toBe(2);
  });
});

describe("edgectl sims refresh", () => {
  test("says what is different, and within a minute that it is the last answer", async () => {
    later();
    Object.assign(rig.superSim, { status: "inactive", fleet: "default_10gb" });
    const { stdout } = await rig.run("sims", "refresh", SERIAL);
    expect(stdout).toBe(
      [
        "Super SIM: inactive. The operator was asked now.",
        "  Status: active -> inactive",
        "  In the operator's words: active -> inactive",
        "  Network group: default_1gb -> default_10gb",
        "PRO SIM: active (operator: Activated). The operator was asked now.",
        "  Nothing is different.",
        "",
      ].join("\n"),
    );
    const before = rig.kore.count();
    expect((await rig.run("sims", "refresh", SERIAL, "supersim")).stdout).toContain(
      "This is the operator's last answer",
    );
    expect(rig.kore.count()).toBe(before);
  });

  test("where one operator fails shows the other SIM, and ends with 1 and the reason", async () => {
    later();
    rig.kore.fail(/./, { kind: "status", status: 429, headers: { "Retry-After": "1800" } });
    const { code, stdout, stderr } = await rig.run("sims", "refresh", SERIAL);
    expect(code).toBe(1);
    expect(stdout).toContain("PRO SIM: active");
    expect(stdout).not.toContain("Super SIM");
    expect(stderr).toContain("The SIM operator takes no more requests for now. (SimOperatorFailed)");
    expect(stderr).toContain("It asks for a pause of 30 min.");
  });
});

describe("edgectl sims allowance", () => {
  test("shows, sets and removes one", async () => {
    const none = await rig.run("sims", "allowance", SERIAL, "prosim");
    expect([none.code, none.stderr]).toEqual([4, expect.stringContaining("AllowanceNotFound")]);
    expect(await rig.json("sims", "allowance", SERIAL, "supersim")).toMatchObject({
      bytes: 1000 * MB,
      source: "operator",
    });
    const set = await rig.run("sims", "allowance", SERIAL, "supersim", "500MB");
    expect(set.stdout).toMatch(/0 B of 500\.0 MB \(0 %\) used this month\n +Source +set by hand\n/);
    const cleared = await rig.run("sims", "allowance", SERIAL, "supersim", "--clear");
    expect(cleared.stdout).toBe(
      "None is set by hand. What counts is 1.00 GB a month, the limit of its fleet at the operator.\n",
    );
    await rig.json("sims", "allowance", SERIAL, "prosim", "1GB");
    expect((await rig.run("sims", "allowance", SERIAL, "prosim", "--clear")).stdout).toBe(
      "None is set by hand, and the operator says none.\n",
    );
    for (const wrong of [["0"], ["much"], ["1GB", "--clear"], ["-5"]])
      expect((await rig.run("sims", "allowance", SERIAL, "supersim", ...wrong)).code, wrong.join(" ")).toBe(2);
  });

  test("is set also while the operator does not say what is used", async () => {
    rig.emnify.fail(/stats/, { kind: "status", status: 503 });
    const { code, stdout, stderr } = await rig.run("sims", "allowance", SERIAL, "prosim", "50MB");
    expect([code, stdout]).toEqual([0, "The allowance of the PRO SIM is 50.0 MB a month.\n"]);
    expect(stderr).toContain("How much of it is used is not known yet: The SIM operator did not answer.");
    const found = await rig.plane.store.dataPlans.findAllowance(
      (await rig.plane.store.assets.findAsset(rig.account.accountId, SERIAL))?.uuid ?? "",
      "prosim",
    );
    expect(found).toEqual({ bytes: 50 * MB, source: "manual" });
  });

  test("settings say and change what becomes of deployments; a viewer may not change them", async () => {
    expect((await rig.run("sims", "settings")).stdout).toContain("ignore: they are carried out.");
    expect(await rig.json("sims", "settings", "--deployments", "wait")).toEqual({ deployments: "wait" });
    expect(await rig.plane.store.dataPlans.readDeployments(rig.account.accountId)).toBe("wait");
    const { apiKey } = await rig.plane.key(rig.account, [], { role: "viewer" });
    const asViewer = (...args: string[]) =>
      rig.user.run(args, { env: { EDGECTL_URL: rig.plane.url, EDGECTL_API_KEY: apiKey } });
    expect((await asViewer("sims", "show", SERIAL)).code).toBe(0);
    expect((await asViewer("sims", "settings", "--deployments", "ignore")).code).toBe(3);
    expect((await asViewer("sims", "refresh", SERIAL)).code).toBe(3);
    expect((await rig.run("sims", "settings", "--deployments", "never")).code).toBe(2);
  });
});

describe("edgectl assets update", () => {
  test("that is confirmed at once says nothing of pending changes", async () => {
    const { code, stdout, stderr } = await rig.run(...update("--wait"));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Status +inactive$/m);
    expect(rig.superSim.status).toBe("inactive");
  });

  test("that is queued says what is pending, also when the asset is shown", async () => {
    rig.kore.schedules = true;
    const { code, stdout, stderr } = await rig.run(...update());
    expect(code).toBe(0);
    expect(stdout).toMatch(/ {2}Pending +to inactive, asked .*; the operator has not confirmed/);
    expect(stderr).toMatch(/Note: Super SIM: active -> inactive, asked .*; the operator has not confirmed\./);
    expect(stderr).toContain("To wait for it: --wait.");
    expect((await rig.run("assets", "show", SERIAL)).stdout).toMatch(/ {2}Pending +to inactive/);
    const { supersim } = (await rig.json("assets", "show", SERIAL)) as { supersim: object };
    expect(supersim).toMatchObject({ pending: { status: "inactive" } });
  });

  test("waits until the operator has confirmed", async () => {
    rig.kore.schedules = true;
    await using command = rig.start(...update("--wait"));
    await command.waitForOutput("the operator has not confirmed");
    rig.kore.settle();
    // The service looks after a pause that grows with the time so far.
    rig.passTime(15);
    expect(await command.exited).toBe(0);
    expect(command.stdout()).toContain("The operators have confirmed the change.");
    expect(command.stdout()).not.toContain("Pending");
  });

  test("that waits too long ends with 1, and leaves the service to it", async () => {
    rig.kore.schedules = true;
    const { code, stdout, stderr } = await rig.run(...update("--wait", "--timeout", "1"));
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("Error: The operator has not confirmed the change within 1 s.");
    expect(stderr).toContain(`edgectl sims show ${SERIAL}`);
  });

  test("that is interrupted while it waits ends with 130; the change goes on", async () => {
    rig.kore.schedules = true;
    await using command = rig.start(...update("--wait"));
    await command.waitForOutput("the operator has not confirmed");
    command.kill("SIGINT");
    expect(await command.exited).toBe(130);
    expect(command.stderr()).toContain("Interrupted. The change goes on.");
    rig.kore.settle();
    rig.passTime(15);
    await waitFor("the change to settle", async () => {
      const asset = await rig.plane.store.assets.findAsset(rig.account.accountId, SERIAL);
      return asset?.supersim?.status === "inactive" && asset.supersim.pending === undefined;
    });
  });

  test("that another change replaces while it waits ends with 1, and says so", async () => {
    rig.kore.schedules = true;
    await using command = rig.start(...update("--wait"));
    await command.waitForOutput("the operator has not confirmed");
    await rig.run("assets", "update", SERIAL, "--status", "active");
    expect(await command.exited).toBe(1);
    expect(command.stderr()).toMatch(/Super SIM: another change has taken its place: (?:active -> |to )active\./);
  });

  test("that fails midway says what changed, why, and what to do", async () => {
    rig.emnify.fail(/PATCH/, { kind: "status", status: 401 });
    const { code, stderr } = await rig.run(...update());
    expect(code).toBe(1);
    expect(stderr).toContain("changed: supersim.status; not changed: prosim.status. (SimOperatorFailed)");
    expect(stderr).toContain("reason: credentials");
    expect(stderr).toContain("repeat the update to finish it.");
  });
});

test("hours of a PRO SIM are refused with what there is", async () => {
  const { code, stderr } = await rig.run("usage", SERIAL, "--sim", "prosim", "--granularity", "hour");
  expect(code).toBe(1);
  expect(stderr).toContain("(GranularityNotAvailable)");
  expect(stderr).toContain("Give --granularity day, month or all");
});
