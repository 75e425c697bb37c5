import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EngineErrorKind, RegistryErrorKind } from "../../../../../src/agent/core/error-kind.ts";
import {
  afterFailedPull,
  decideLookupRetry,
  isLookupErrorDecisive,
  mayUsePresent,
  mustAsk,
  pullPolicyOf,
} from "../../../../../src/agent/core/image/pull-decision.ts";
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
    ["unsupported", "registry_unreachable", false],
    // Neither can use the answer: the registry is at fault, and not the engine.
    ["unsupported", "unknown", true],
    ["wrong_content", "unknown", true],
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

describe("wrong content that an engine received", () => {
  it("is asked for again, as on a link that breaks", () => {
    expect(afterFailedPull("wrong_content", 1, 2, false)).toBe("retry");
    expect(afterFailedPull("wrong_content", 2, 2, false)).toBe("give_up");
    expect(afterFailedPull("wrong_content", 1, 2, true)).toBe("use_local");
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

describe("the pull policy", () => {
  const tagged = "nginx:1";
  const floating = "nginx";

  it.each([
    ["deploy", tagged, undefined, "missing"],
    ["deploy", floating, undefined, "newest"],
    ["update", tagged, undefined, "changed"],
    ["update", floating, undefined, "changed"],
    ["restart", tagged, undefined, "missing"],
    ["deploy", tagged, "always", "always"],
    ["update", tagged, "missing", "missing"],
    ["deploy", floating, "missing", "missing"],
  ] as const)("of a %s of %s with pull %s is %s", (action, image, pull, policy) => {
    expect(pullPolicyOf(action, { image, ...(pull && { pull }) })).toBe(policy);
  });

  it("never asks about a digest, and with `missing` about nothing that is there", () => {
    const pinned = `${tagged}@sha256:${"0".repeat(64)}`;
    for (const policy of ["missing", "changed", "always", "newest"] as const) {
      expect(mustAsk(pinned, policy)).toBe(false);
      expect(mustAsk(tagged, policy)).toBe(policy !== "missing");
    }
  });

  it("lets the image on the device stand in only where nothing else was asked for", () => {
    expect(mayUsePresent("always", false)).toBe(false);
    expect(mayUsePresent("changed", true)).toBe(false);
    expect(mayUsePresent("changed", false)).toBe(true);
    expect(mayUsePresent("newest", true)).toBe(true);
  });

  it("`changed` ends with the image on the device, whatever fails, except that the tag's image runs on no such device", () => {
    const kinds: readonly RegistryErrorKind[] = [
      "image_not_found",
      "image_denied",
      "wrong_platform",
      "registry_unreachable",
      "rate_limited",
      "registry_untrusted",
      "refused_target",
      "wrong_content",
      "unsupported",
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.integer({ min: 1, max: 10 }),
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        (kind, attempts, requiresCost, hasCredentials, isFloating) => {
          const reference = isFloating ? floating : tagged;
          const lookup = {
            reference,
            policy: "changed",
            attempts,
            present: true,
            requiresCost,
            hasCredentials,
          } as const;
          let attempt = 1;
          while (decideLookupRetry(kind, { ...lookup, attempt }) === "retry") attempt++;
          const decision = decideLookupRetry(kind, { ...lookup, attempt });
          expect(attempt).toBeLessThanOrEqual(2);
          // The engine would go to the refused target, and download without a limit.
          const mayAsk = isFloating && !requiresCost && kind !== "refused_target";
          const allowed = kind === "wrong_platform" ? ["give_up"] : [...(mayAsk ? ["ask_engine"] : []), "use_local"];
          expect(allowed).toContain(decision);
        },
      ),
    );
  });
});
