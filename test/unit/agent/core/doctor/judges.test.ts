import { describe, expect, it } from "vitest";
import type { CheckId, CheckResult } from "../../../../../src/agent/core/doctor/checks.ts";
import { type AgentAnswer, judgeAgent } from "../../../../../src/agent/core/doctor/judge-agent.ts";
import { describeState, judgeService, type ServiceFacts } from "../../../../../src/agent/core/doctor/judge-service.ts";

const RUNNING: ServiceFacts = {
  load: "loaded",
  active: "active",
  sub: "running",
  result: "success",
  status: 0,
  conditionStatus: 0,
  pid: 41,
  restarts: 0,
  since: "Fri 2026-11-27 12:00:00 UTC",
  atBoot: "enabled",
  missingUser: undefined,
  missingGroup: undefined,
  isStale: false,
  journal: [],
};
const STOPPED: ServiceFacts = { ...RUNNING, active: "inactive", sub: "dead", pid: 0 };
const FAILING: ServiceFacts = {
  ...STOPPED,
  active: "activating",
  sub: "auto-restart",
  result: "exit-code",
  status: 1,
  restarts: 3,
};
const UNENROLLED: ServiceFacts = { ...STOPPED, result: "exec-condition", conditionStatus: 1 };
const others = (results: Partial<Record<CheckId, CheckResult>> = {}): Map<CheckId, CheckResult> =>
  new Map(Object.entries(results) as [CheckId, CheckResult][]);
const BROKEN_CONFIG = others({ config: { verdict: "bad", text: "colour: unknown field.", next: "Correct the file" } });

describe("the service, as systemd reports it", () => {
  it.each<[string, ServiceFacts, string, RegExp]>([
    ["runs", RUNNING, "good", /^It runs since Fri/],
    ["runs and is disabled", { ...RUNNING, atBoot: "disabled" }, "warning", /systemctl enable edge-agent/],
    ["of an older unit file", { ...RUNNING, isStale: true }, "warning", /daemon-reload/],
    ["stopped", STOPPED, "bad", /is stopped since .* sudo systemctl start edge-agent/],
    ["stopped and disabled", { ...STOPPED, atBoot: "disabled" }, "bad", /stopped and disabled.*enable --now/],
    ["masked", { ...STOPPED, load: "masked" }, "bad", /masked.*unmask/],
    ["a unit that cannot be read", { ...STOPPED, load: "bad-setting" }, "bad", /systemd-analyze verify/],
    ["was not started since", UNENROLLED, "bad", /since the device was enrolled/],
    ["starts", { ...STOPPED, active: "activating", sub: "start" }, "good", /It is starting/],
    ["out of memory", { ...FAILING, result: "oom-kill", status: 9 }, "bad", /killed for lack of memory.*MemoryMax/],
    ["without its user", { ...FAILING, missingUser: "bob" }, "bad", /user bob does not exist.*systemd-sysusers/],
    ["without its group", { ...FAILING, status: 216 }, "bad", /a group of the unit does not exist/],
    [
      "without its group, at the condition",
      { ...UNENROLLED, conditionStatus: 216, missingGroup: "docker" },
      "bad",
      /group docker does not exist.*systemd-sysusers/,
    ],
    // systemd takes it for a condition that is not met.
    [
      "without its state",
      { ...UNENROLLED, conditionStatus: 238 },
      "bad",
      /cannot start: its state directory cannot be/,
    ],
    [
      "without a directory of its unit",
      {
        ...FAILING,
        status: 226,
        journal: [
          "edge-agent.service: Failed to set up mount namespacing: /data/parts: No such file or directory",
          "edge-agent.service: Failed at step NAMESPACE spawning /usr/bin/edge-agent: No such file or directory",
        ],
      },
      "bad",
      /a directory that the unit names.*Its last words: Failed to set up mount namespacing: \/data\/parts.* ReadWritePaths/,
    ],
    ["killed, perhaps for lack of memory", { ...FAILING, result: "signal", status: 9 }, "bad", /signal 9.*-g oom/],
    [
      "ends at each start",
      { ...FAILING, journal: ["edge-agent: the disk is on fire", "edge-agent.service: Main process exited"] },
      "bad",
      /exit code 1, started again 3 times.*the disk is on fire.*journalctl/,
    ],
  ])("%s", (_name, facts, verdict, expected) => {
    const found = judgeService(facts, others(), undefined);
    expect(found?.verdict).toBe(verdict);
    expect(`${found?.text} ${found?.next ?? ""}`).toMatch(expected);
  });

  it("a service that ends at each start is explained by the check that says why, with its remedy", () => {
    const found = judgeService(FAILING, BROKEN_CONFIG, undefined);
    expect(found?.text).toMatch(/ends at each start: exit code 1.*Configuration: colour: unknown field/);
    expect(found?.next).toBe("Correct the file; then: sudo systemctl restart edge-agent");
  });

  it("a service that waits for enrolment is not broken itself", () => {
    const found = judgeService(UNENROLLED, BROKEN_CONFIG, undefined);
    expect(found).toEqual({ verdict: "skipped", text: "The service is not started before the device is enrolled." });
  });

  it("an agent beside the service is named with its process", () => {
    expect(judgeService(FAILING, others(), 77)).toMatchObject({
      verdict: "bad",
      next: expect.stringContaining("kill 77"),
    });
    expect(judgeService(RUNNING, others(), 41)?.verdict).toBe("good");
    // Also in the moments in which the service starts once more, and not while it starts for the first time.
    const starting = { ...STOPPED, active: "activating", sub: "start", pid: 42 };
    expect(judgeService({ ...starting, restarts: 1 }, others(), 77)?.text).toBe(
      "Another agent runs beside the service, as process 77.",
    );
    expect(judgeService(starting, others(), 77)?.verdict).toBe("good");
  });

  it("is not judged where systemd does not know it", () => {
    expect(judgeService({ ...STOPPED, load: "not-found" }, others(), undefined)).toBeUndefined();
  });

  it("is described in the status with the same words", () => {
    expect(describeState(STOPPED)).toBe("The service is stopped since Fri 2026-11-27 12:00:00 UTC");
    expect(describeState({ ...STOPPED, load: "masked" })).toBe("The service is masked");
    // systemd reports the condition of a start that it could not even try as failed.
    expect(describeState({ ...STOPPED, result: "exec-condition", missingUser: "nobody-such" })).toBe(
      "The service cannot start: the unit's user nobody-such does not exist",
    );
    expect(describeState({ ...UNENROLLED, conditionStatus: 216, missingGroup: "docker" })).toBe(
      "The service cannot start: the unit's group docker does not exist",
    );
    expect(describeState({ ...UNENROLLED, conditionStatus: 226 })).toMatch(/^The service cannot start: a directory/);
    expect(describeState(UNENROLLED)).toBe("The service was not started: the device was not enrolled then");
    expect(describeState(FAILING)).toMatch(/^The service is activating \(auto-restart\), ended: exit code 1/);
  });
});

describe("the agent, by what it reports", () => {
  const link = { kind: "link", text: "No link." } as const;
  const app = { kind: "app", text: "web does not run.", next: "edge-agent app web" } as const;
  const bad: CheckResult = { verdict: "bad", text: "x" };
  const noDns = others({ dns: { verdict: "bad", text: "The name server does not answer." } });

  it.each<[string, AgentAnswer, Map<CheckId, CheckResult>, string, RegExp]>([
    ["all is well", [], others(), "good", /no trouble/],
    ["a trouble that no check explains", [link], others(), "bad", /No link\. .*tries again by itself/],
    ["a trouble that a check explains", [link], noDns, "skipped", /found above/],
    ["one of each", [link, app], noDns, "bad", /^web does not run\. edge-agent app web$/],
    ["it does not run", { reason: "down", text: "It is not running" }, others(), "bad", /systemctl restart/],
    [
      "a stopped service",
      { reason: "down", text: "It is not running" },
      others({ service: bad }),
      "skipped",
      /not run/,
    ],
    ["this user may not ask", { reason: "forbidden", text: "no" }, others(), "skipped", /as root/],
  ])("%s", (_name, answer, results, verdict, expected) => {
    const found = judgeAgent(answer, results);
    expect(found.verdict).toBe(verdict);
    expect(`${found.text} ${found.next ?? ""}`.trim()).toMatch(expected);
  });
});
