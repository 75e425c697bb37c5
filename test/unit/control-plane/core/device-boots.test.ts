import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BootDecision, decideOnBoot, type DeviceBoots } from "../../../../src/control-plane/core/device-boots.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;

/** The service's side, with the session of whoever was admitted last. */
class Service {
  known: DeviceBoots | undefined;
  now = 1_000;
  /** Boot of the device that is connected. */
  connected: string | undefined;

  connect(id: string, { afterS = 10, address = id } = {}): BootDecision {
    this.now += afterS;
    const decision = decideOnBoot(this.known, { id, address, since: this.now }, this.connected !== undefined);
    this.known = decision.next ?? this.known;
    if (decision.retryAfterS === undefined) this.connected = id;
    return decision;
  }

  get contender(): string | undefined {
    return this.known?.clone?.contender.id;
  }
}

describe("the boots of an asset's device", () => {
  it("one device that boots, restarts its agent and changes its network is always admitted, and never called a clone", () => {
    const step = fc.record({ boots: fc.boolean(), afterS: fc.nat(3 * DAY), address: fc.ipV4() });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const service = new Service();
        let boot = 0;
        for (const { boots, ...how } of steps) {
          if (boots) boot++;
          expect(service.connect(`boot-${boot}`, how).retryAfterS).toBeUndefined();
          expect(service.contender).toBeUndefined();
        }
      }),
    );
  });

  it("of two devices the one stays that was connected before the other came, and the other waits longer each time", () => {
    const service = new Service();
    service.connect("a");
    expect(service.connect("b").retryAfterS).toBeUndefined();
    expect(service.connect("a").retryAfterS).toBeUndefined();
    expect([service.known?.current.id, service.contender]).toEqual(["a", "b"]);
    const waits = Array.from({ length: 9 }, () => service.connect("b", { afterS: HOUR }).retryAfterS);
    expect(waits).toEqual([60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
    expect(service.connect("a", { afterS: 0 })).toEqual({});
    expect(service.connected).toBe("a");
  });

  it("a device that does not wait is refused without a write", () => {
    const service = new Service();
    for (const id of ["a", "b", "a", "b"]) service.connect(id);
    expect(service.connect("b", { afterS: 1 })).toEqual({ retryAfterS: 60 });
  });

  it("the later one is admitted at once while the other is not connected", () => {
    const service = new Service();
    for (const id of ["a", "b", "a"]) service.connect(id);
    service.connected = undefined;
    expect(service.connect("b").retryAfterS).toBeUndefined();
    expect([service.known?.current.id, service.contender]).toEqual(["b", "a"]);
  });

  it("a device boots beside its clone, and gets in at once", () => {
    const service = new Service();
    for (const id of ["a", "b", "a"]) service.connect(id);
    expect(service.connect("a2").retryAfterS).toBeUndefined();
    expect(service.connect("b").retryAfterS).toBe(60);
    expect([service.known?.current.id, service.contender]).toEqual(["a2", "b"]);
  });

  it("a clone that was not seen for a day is forgotten", () => {
    const service = new Service();
    for (const id of ["a", "b", "a", "b"]) service.connect(id);
    expect(service.connect("a", { afterS: DAY - 1 })).toEqual({});
    expect(service.contender).toBe("b");
    expect(service.connect("a", { afterS: 2 }).next?.clone).toBeUndefined();
  });

  it("whatever connects, at most three boots are kept, and nobody waits longer than an hour", () => {
    const attempt = fc.record({ id: fc.constantFrom("a", "b", "c", "d"), afterS: fc.nat(DAY), ends: fc.boolean() });
    fc.assert(
      fc.property(fc.array(attempt, { maxLength: 60 }), (attempts) => {
        const service = new Service();
        for (const { id, afterS, ends } of attempts) {
          if (ends) service.connected = undefined;
          const isAlone = service.connected === undefined;
          const { retryAfterS } = service.connect(id, { afterS });
          expect(retryAfterS ?? 0).toBeLessThanOrEqual(HOUR);
          if (isAlone) expect(retryAfterS).toBeUndefined();
          expect(JSON.stringify(service.known).match(/"id"/g)?.length).toBeLessThanOrEqual(3);
        }
      }),
    );
  });
});
