import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EngineErrorKind, RegistryErrorKind } from "../../../../../src/agent/core/error-kind.ts";
import { afterFailedPull, isLookupErrorDecisive } from "../../../../../src/agent/core/image/pull-decision.ts";
import { pullHint } from "../../../../../src/agent/core/image/pull-hint.ts";

describe("the registry's answer to the agent", () => {
  it.each<[RegistryErrorKind, EngineErrorKind, boolean]>([
    ["image_denied", "registry_untrusted", true],
    ["image_denied", "registry_unreachable", true],
    ["registry_untrusted", "image_denied", true],
    ["image_not_found", "unknown", true],
    // What the device or the image lacks is no matter of access.
    ["image_denied", "no_space", false],
    ["image_denied", "unavailable", false],
    ["image_denied", "wrong_platform", false],
    ["image_denied", "corrupt_layer", false],
    // It may be gone by now, or is one that an engine may understand.
    ["registry_unreachable", "image_denied", false],
    ["rate_limited", "registry_unreachable", false],
    ["unsupported", "registry_untrusted", false],
  ])("%s, then %s of the engine: decisive is %s", (lookup, engine, isDecisive) => {
    expect(isLookupErrorDecisive(lookup, engine, false)).toBe(isDecisive);
    expect(isLookupErrorDecisive(lookup, engine, true)).toBe(false);
  });

  it("that the certificate is not trusted is never worth another attempt", () => {
    fc.assert(
      fc.property(fc.nat(10), fc.nat(10), fc.boolean(), (attempt, attempts, present) => {
        const next = afterFailedPull("registry_untrusted", attempt, attempts, present);
        expect(next).toBe(present ? "use_local" : "give_up");
      }),
    );
  });
});

describe("what to do about a refused image", () => {
  it("depends on whether there were credentials", () => {
    expect(pullHint("image_denied", false)).toMatch(/^Send the registry's credentials/);
    expect(pullHint("image_denied", true)).toMatch(/^Check the user name/);
    expect(pullHint("image_denied")).toMatch(/^Check the user name/);
    expect(pullHint("image_not_found", false)).toContain("without credentials");
    expect(pullHint("image_not_found", true)).not.toContain("without credentials");
  });
});
