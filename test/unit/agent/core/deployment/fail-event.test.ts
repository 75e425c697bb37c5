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
  it("says what failed, then what failed while the app was brought back, and that the agent goes on trying", () => {
    const failure: Failure = { code: "CrashLoopBackOff", message: "The app stopped", step: "verifying" };
    const rollbackFailure: Failure = {
      code: "Internal",
      message: "The engine failed: no such file.",
      step: "starting",
    };
    const record = { ...newRecord("d1", 1, spec), action: "update", previous, touched: true, rollbackFailure } as const;
    const { message, details } = failEvent(failure, record);
    expect(message).toBe(
      "The app stopped. The previous version could not be brought back either: The engine failed: no such file. " +
        "The agent goes on trying.",
    );
    expect(details).toMatchObject({
      rolled_back: false,
      rollback_failure: { code: "Internal", message: "The engine failed: no such file." },
    });
  });

  it("has the text that the specification fixes in place of the failure's own", () => {
    const failure: Failure = { code: "ErrorPortInUse", message: "Port 30080 is in use by ssh.", step: "checking" };
    expect(failEvent(failure, newRecord("d1", 1, spec)).message).toBe(errorEntry("ErrorPortInUse").message);
  });
});
