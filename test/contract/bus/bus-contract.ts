import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Bus, Topic } from "../../../src/control-plane/bus/bus.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { BusHarness } from "./harness.ts";

const topic = (name: string): Topic => `events.dep_${name}`;

function count(bus: Bus, name: Topic): { readonly calls: () => number } & Disposable {
  let calls = 0;
  const subscription = bus.subscribe(name, () => calls++);
  return { calls: () => calls, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}

/** Publishes until the condition holds, since a message may be lost, above all before a subscription has arrived. */
async function publishUntil(publish: () => void, what: string, condition: () => boolean): Promise<void> {
  await waitFor(what, () => {
    publish();
    return condition();
  });
}

/** Contract of buses: between instances, and in one process. */
export function busContract(harness: BusHarness): void {
  describe(`the bus: ${harness.name}`, () => {
    test("a listener of the same instance is called before publish returns", async () => {
      await using instances = await harness.open();
      using own = count(instances.here, topic("a"));
      using other = count(instances.here, topic("b"));
      instances.here.publish(topic("a"));
      instances.here.publish(topic("a"));
      expect([own.calls(), other.calls()]).toEqual([2, 0]);
    });

    test("a listener of another instance is called, and only for its topic", async () => {
      await using instances = await harness.open();
      using wanted = count(instances.there, topic("a"));
      using other = count(instances.there, topic("b"));
      using access = count(instances.there, "access");
      await publishUntil(
        () => instances.here.publish(topic("a")),
        "the message",
        () => wanted.calls() > 0,
      );
      await publishUntil(
        () => instances.here.publish("access"),
        "the other message",
        () => access.calls() > 0,
      );
      expect(other.calls()).toBe(0);
    });

    test("the same function subscribes twice; each subscription ends by itself", async () => {
      await using instances = await harness.open();
      let calls = 0;
      const listener = (): void => void calls++;
      using first = instances.here.subscribe(topic("a"), listener);
      {
        using _second = instances.here.subscribe(topic("a"), listener);
        instances.here.publish(topic("a"));
        expect(calls).toBe(2);
      }
      instances.here.publish(topic("a"));
      expect(calls).toBe(3);
      first[Symbol.dispose]();
      first[Symbol.dispose]();
      instances.here.publish(topic("a"));
      expect(calls).toBe(3);
    });

    test("a listener that has ended is not called for what another instance publishes", async () => {
      await using instances = await harness.open();
      using ended = count(instances.there, topic("a"));
      using marker = count(instances.there, topic("b"));
      await publishUntil(
        () => instances.here.publish(topic("a")),
        "the first message",
        () => ended.calls() > 0,
      );
      ended[Symbol.dispose]();
      // What is under way may still arrive here, but not at the listener.
      const before = ended.calls();
      await publishUntil(
        () => {
          instances.here.publish(topic("a"));
          instances.here.publish(topic("b"));
        },
        "the marker",
        () => marker.calls() > 1,
      );
      expect(ended.calls()).toBe(before);
    });

    test("listeners may subscribe and end during a message", async () => {
      await using instances = await harness.open();
      using owner = new DisposableStack();
      let late = 0;
      const first = instances.here.subscribe(topic("a"), () => {
        first[Symbol.dispose]();
        owner.use(instances.here.subscribe(topic("b"), () => late++));
      });
      instances.here.publish(topic("a"));
      instances.here.publish(topic("a"));
      instances.here.publish(topic("b"));
      expect(late).toBe(1);
    });

    test("a wake-up names the asset, and reaches the instance it is for", async () => {
      await using instances = await harness.open();
      const woken: unknown[] = [];
      const others: unknown[] = [];
      using _wanted = instances.there.subscribeWakes("one", (asset) => woken.push(asset));
      using _other = instances.there.subscribeWakes("two", (asset) => others.push(asset));
      await publishUntil(
        () => instances.here.publishWake("one", "asset-1"),
        "the wake-up",
        () => woken.length > 0,
      );
      expect(new Set(woken)).toEqual(new Set(["asset-1"]));
      expect(others).toEqual([]);
    });

    test("wake-ups for more assets than one message holds all arrive", async () => {
      await using instances = await harness.open();
      const assets = new Set(Array.from({ length: 10_000 }, () => randomUUID()));
      const woken = new Set<unknown>();
      using _wakes = instances.there.subscribeWakes("one", (asset) => woken.add(asset));
      await publishUntil(
        () => {
          for (const asset of assets) instances.here.publishWake("one", asset);
        },
        "all wake-ups",
        () => [...assets].every((asset) => woken.has(asset)),
      );
      // Those that are repeated may be too many for a second: then any device may be meant.
      woken.delete(undefined);
      expect(woken).toEqual(assets);
    });

    test("after an interruption every listener is called once more", async () => {
      await using instances = await harness.open();
      const { here, there, interrupt } = instances;
      if (!interrupt) return expect(here.state).toBe("local");
      expect([here.state, there.state]).toEqual(["up", "up"]);
      const woken: unknown[] = [];
      using events = count(there, topic("a"));
      using access = count(there, "access");
      using _wakes = there.subscribeWakes("one", (asset) => woken.push(asset));
      await interrupt();
      expect([events.calls(), access.calls(), woken]).toEqual([1, 1, [undefined]]);
      await publishUntil(
        () => here.publish(topic("a")),
        "a message afterwards",
        () => events.calls() > 1,
      );
    });

    test("many messages in one turn are one message to another instance", async () => {
      await using instances = await harness.open();
      if (instances.here === instances.there) return;
      using wanted = count(instances.there, topic("a"));
      using marker = count(instances.there, topic("b"));
      await publishUntil(
        () => instances.here.publish(topic("b")),
        "the subscription",
        () => marker.calls() > 0,
      );
      const before = marker.calls();
      for (let i = 0; i < 1000; i++) instances.here.publish(topic("a"));
      await publishUntil(
        () => instances.here.publish(topic("b")),
        "the marker",
        () => marker.calls() > before,
      );
      expect(wanted.calls()).toBeLessThanOrEqual(2);
    });
  });
}
