import { describe, expect, it } from "vitest";
import type { DeploymentEvent } from "../../../src/protocol/api-types.ts";
import { budgetText, buttonText, priceText, readPrice } from "../../../src/console/pages/deploy/price.ts";
import { adviceFor } from "../../../src/console/pages/deployment/advice.ts";
import { addEvent, NO_PROGRESS, secondsLeft } from "../../../src/console/pages/deployment/progress.ts";

const event = (seq: number, fields: Partial<DeploymentEvent> = {}): DeploymentEvent => ({
  status: "Running",
  message: `event ${seq}`,
  step: "checking",
  deployment_id: "dep_1",
  seq,
  timestamp: 1_790_000_000 + seq,
  ...fields,
});

const download = (seq: number, done: number): DeploymentEvent =>
  event(seq, { step: "pulling", bytes: { done, total: 1000 }, details: { bytes_per_second: 100, cuts: 1 } });

describe("the progress of a deployment", () => {
  it("has each event once, however often a stream repeats it", () => {
    const events = [event(1), event(2), event(1), event(2), event(3)];
    const { lines, lastSeq, deploymentId } = events.reduce(addEvent, NO_PROGRESS);
    expect(lines.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect([lastSeq, deploymentId]).toEqual([3, "dep_1"]);
  });

  it("shows a download as one line, with its rate and the time left", () => {
    const progress = [event(1), download(2, 0), download(3, 400)].reduce(addEvent, NO_PROGRESS);
    expect(progress.lines.map(({ seq }) => seq)).toEqual([1, 3]);
    expect(progress.download).toEqual({ done: 400, total: 1000, bytesPerSecond: 100, cuts: 1 });
    expect(secondsLeft(progress.download!)).toBe(6);
    expect(addEvent(progress, event(4, { step: "creating" })).download).toBeUndefined();
  });

  it("ends with its last event, after which nothing counts", () => {
    const final = event(2, { status: "Fail", code: "ErrorPortInUse" });
    const progress = [event(1), final, event(3)].reduce(addEvent, NO_PROGRESS);
    expect([progress.final, progress.lastSeq]).toEqual([final, 2]);
  });

  it("keeps a bounded number of lines and counts the others", () => {
    const progress = Array.from({ length: 620 }, (_, index) => event(index + 1)).reduce(addEvent, NO_PROGRESS);
    expect([progress.lines.length, progress.droppedLines]).toEqual([500, 120]);
  });

  it("says until when it waits for the device, or for what its download needs", () => {
    const waiting = event(1, { details: { waiting_for: "device", until: 1_800_000_000 } });
    expect(addEvent(NO_PROGRESS, waiting).waitingUntil).toBe(1_800_000_000);
    const short = event(1, { details: { waiting_for: "monthly_budget", waiting_until: 1_800_000_000, waiting_s: 5 } });
    expect(addEvent(NO_PROGRESS, short).waitingUntil).toBe(1_800_000_000);
    expect([waiting, event(2)].reduce(addEvent, NO_PROGRESS).waitingUntil).toBeUndefined();
  });
});

describe("the price of a deployment", () => {
  const details = { download_bytes: 6_012_345, disk_bytes: 12_000_000, layers: 3, layers_present: 1 };

  it("is what the dry run found out", () => {
    const price = readPrice({ details })!;
    expect(priceText(price)).toBe("6.0 MB of download in 2 of 3 layers, and about 12 MB of disk.");
    expect(buttonText("Deploy", price)).toBe("Deploy for 6.0 MB");
    expect(readPrice({ details: { download_bytes: "6" } })).toBeUndefined();
    expect(buttonText("Deploy", undefined)).toBe("Deploy");
  });

  it("is compared with what is left of the data budget", () => {
    const price = readPrice({ details })!;
    const budget = {
      monthly_bytes: 10_000_000,
      daily_bytes: null,
      used_this_month_bytes: 1_000_000,
      used_today_bytes: 0,
    };
    expect(budgetText(price, budget)).toBe("The device's data budget has 9.0 MB left this month.");
    expect(budgetText(price, { ...budget, daily_bytes: 1_000_000 })).toContain(
      "1.0 MB left this day. The download does not fit",
    );
    expect(budgetText(price, null)).toBeUndefined();
  });
});

describe("the advice on a failure", () => {
  it("says who holds a port", () => {
    const holders = [
      [{ kind: "app", name: "web" }, "the app web"],
      [{ kind: "container", name: "nginx" }, "the container nginx, which edge-agent does not manage"],
      [{ kind: "process", name: "sshd", pid: 7 }, "the program sshd (process 7)"],
      [{ kind: "process" }, "a program"],
      [undefined, "something else"],
    ] as const;
    for (const [holder, text] of holders) {
      const { facts, next } = adviceFor("ErrorPortInUse", { host_port: 30_080, ...(holder && { holder }) });
      expect(facts).toEqual([`Port 30080 of the device is held by ${text}.`]);
      expect(next).toContain("Choose another port");
    }
  });

  it("prefers what the device says, and uses the table for codes it has no words for", () => {
    expect(adviceFor("ImagePullBackOff", { next: "Add the registry's certificate." }).next).toBe(
      "Add the registry's certificate.",
    );
    expect(adviceFor("FilesNotPlaced", {}, "from the table").next).toBe("from the table");
    expect(adviceFor("toString", {}).next).toBeUndefined();
  });

  it("shows the output of the app line by line, and the problems of fields", () => {
    const details = {
      logs: "a\nb\n",
      output: ["c"],
      issues: [{ path: "name", reason: "is taken" }],
      exit_code: 3,
      timings: {},
    };
    const { facts, output } = adviceFor("CrashLoopBackOff", details);
    expect(output).toEqual(["c", "a", "b"]);
    expect(facts).toEqual(["name: is taken", "Exit code: 3"]);
  });
});
