import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CONFIRM_AFTER_ONLINE_MS,
  isTriedAgain,
  trialObstacle,
} from "../../../../src/agent/core/updates/confirmation.ts";

const APP = { name: "web", isChanged: false, isThere: true, isUp: true, mayExit: false };
const online = CONFIRM_AFTER_ONLINE_MS;

describe("whether a version on trial confirms", () => {
  it.each([
    ["online for long enough, with its apps as before", online, [APP], undefined],
    ["without apps", online, [], undefined],
    ["with an app that has ended, as it may", online, [{ ...APP, isUp: false, mayExit: true }], undefined],
    [
      "with an app that a deployment has replaced",
      online,
      [{ ...APP, isThere: false, isUp: false, isChanged: true }],
      undefined,
    ],
    ["before the engine has answered", online, undefined, /engine/],
    ["without a link", undefined, [APP], /link/],
    ["with a link that has just come up", online - 1, [APP], /90 s/],
    ["with an app that is gone", online, [{ ...APP, isThere: false, isUp: false }], /web/],
    ["with an app that may end and is gone", online, [{ ...APP, isThere: false, isUp: false, mayExit: true }], /web/],
    ["with an app that has stopped", online, [APP, { ...APP, name: "db", isUp: false }], /db/],
  ])("%s", (_what, onlineForMs, apps, obstacle) => {
    const found = trialObstacle({ onlineForMs, apps });
    if (obstacle === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(obstacle);
  });

  it("never without an engine, a link, and each app that should run", () => {
    const app = fc.record({
      name: fc.string(),
      isChanged: fc.boolean(),
      isThere: fc.boolean(),
      isUp: fc.boolean(),
      mayExit: fc.boolean(),
    });
    const facts = fc.record({
      onlineForMs: fc.option(fc.nat({ max: 2 * online }), { nil: undefined }),
      apps: fc.option(fc.array(app, { maxLength: 5 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(facts, ({ onlineForMs, apps }) => {
        if (trialObstacle({ onlineForMs, apps }) !== undefined) return;
        expect(onlineForMs).toBeGreaterThanOrEqual(online);
        for (const { isChanged, isThere } of apps ?? []) expect(isChanged || isThere).toBe(true);
        expect(apps).toBeDefined();
      }),
    );
  });

  it.each([
    [{ reason: "unconfirmed", attempt: 1 }, true],
    [{ reason: "unconfirmed", attempt: 2 }, true],
    [{ reason: "unconfirmed", attempt: 3 }, false],
    [{ reason: "crashed", attempt: 1 }, false],
    [{ reason: "pinned", attempt: 1 }, false],
  ])("a release with %j is tried again by itself: %s", (aside, isTried) => {
    expect(isTriedAgain(aside)).toBe(isTried);
  });
});
