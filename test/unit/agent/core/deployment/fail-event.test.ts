import { describe, expect, it } from "vitest";
import { failEvent } from "../../../../../src/agent/core/deployment/fail-event.ts";
import { type Failure, newApp, newRecord } from "../../../../../src/agent/core/records.ts";
import { parseAppSpec } from "../../../../../src/protocol/apps/app-spec.ts";
import { errorEntry } from "../../../../../src/protocol/errors/errors.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:1" });
if (!parsed.ok) throw parsed.error;
const { spec } = parsed;
const previous = newApp(spec, { deploymentId: "d0", imageId: "i0", digest: undefined, containerId: "c0" });

describe("the final event of a failed deployment", () => {
  // Releases up to 0.1 stored an empty message in place of the table's.
  it.each(["ErrorPortInUse", "PolicyDenied"] as const)(
    "has the table's text for a stored failure without any: %s",
    (code) => {
      const failure: Failure = { code, message: "", step: "checking" };
      expect(failEvent(failure, newRecord("d1", 1, spec)).message).toBe(errorEntry(code).message);
    },
  );

  it("has it also for the failure of a rollback", () => {
    const failure: Failure = { code: "CrashLoopBackOff", message: "The app stopped.", step: "verifying" };
    const rollbackFailure: Failure = { code: "ErrorPortInUse", message: "", step: "starting" };
    const record = { ...newRecord("d1", 1, spec), action: "update", previous, touched: true, rollbackFailure } as const;
    const { message, details } = failEvent(failure, record);
    expect(message).toContain(errorEntry("ErrorPortInUse").message);
    expect(details).toMatchObject({ rollback_failure: { message: errorEntry("ErrorPortInUse").message } });
  });
});
