import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  outcomeOfClose,
  outcomeOfHttpStatus,
  outcomeOfProxyStatus,
} from "../../../../../src/agent/core/link/link-outcome.ts";
import { CLOSE_CODES } from "../../../../../src/protocol/link/frames.ts";

describe("the outcome of an attempt", () => {
  it.each([
    [401, "refused", /token.*HTTP 401.*device_token/],
    [403, "refused", /token.*HTTP 403/],
    [426, "unsupported", /update the agent/],
    [404, "failed", /control_plane_url/],
    [429, "failed", /fewer connections/],
    [503, "failed", /not ready/],
    [302, "failed", /wants a login/],
    [200, "failed", /something other than the control plane/],
    [502, "failed", /HTTP 502/],
  ] as const)("of HTTP %i is %s", (status, kind, reason) => {
    const outcome = outcomeOfHttpStatus(status, undefined);
    expect(outcome).toMatchObject({ kind });
    expect(outcome.reason).toMatch(reason);
  });

  it("keeps Retry-After", () => {
    expect(outcomeOfHttpStatus(429, 5_000)).toMatchObject({ kind: "failed", retryAfterMs: 5_000 });
    expect(outcomeOfProxyStatus(503, 5_000)).toMatchObject({ kind: "failed", retryAfterMs: 5_000 });
    expect(outcomeOfHttpStatus(503, undefined)).not.toHaveProperty("retryAfterMs");
  });

  it("of a proxy's refusal is never a refused token", () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 999 }), (status) => {
        const outcome = outcomeOfProxyStatus(status, undefined);
        expect(outcome.kind).toBe("failed");
        expect(outcome.reason).toContain("the proxy");
      }),
    );
    expect(outcomeOfProxyStatus(407, undefined).reason).toMatch(/user name and password/);
  });

  it.each([
    [CLOSE_CODES.unauthorized, "refused"],
    [CLOSE_CODES.unsupportedProtocol, "unsupported"],
    [CLOSE_CODES.replaced, "replaced"],
    [CLOSE_CODES.restart, "failed"],
    [CLOSE_CODES.goingAway, "failed"],
    [CLOSE_CODES.badFrame, "failed"],
    [CLOSE_CODES.helloTimeout, "failed"],
    [CLOSE_CODES.tooBig, "failed"],
    [1006, "failed"],
    [4999, "failed"],
  ] as const)("of close code %i is %s", (code, kind) => {
    expect(outcomeOfClose(code, undefined).kind).toBe(kind);
  });

  it("of any other close after a goodbye is restarting", () => {
    for (const code of [1000, 1001, 1006, 1012]) {
      expect(outcomeOfClose(code, 7_000)).toMatchObject({ kind: "restarting", windowMs: 7_000 });
    }
    expect(outcomeOfClose(CLOSE_CODES.replaced, 7_000).kind).toBe("replaced");
  });
});
