import { z } from "zod";
import { type FleetImages, presentFleets, replaceFleetImages } from "../core/image/fleet-images.ts";
import type { AgentStore } from "./store.ts";

const NAME = "fleet_images";

const schema = z.array(z.object({ fleet: z.string(), images: z.array(z.string()) }));

type Store = Pick<AgentStore, "apps" | "deployments" | "learnedValue" | "saveLearnedValue">;

/** The images that fleets keep on the device, stored across restarts. */
export class KeptImages {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** References of the images of all fleets that have something on the device. */
  references(): string[] {
    const present = presentFleets(this.#store.apps(), this.#store.deployments());
    return this.#lists().flatMap(({ fleet, images }) => (present.has(fleet) ? images : []));
  }

  /** Replaces the list of a fleet. @throws StoreError */
  replace(changed: FleetImages): void {
    const present = presentFleets(this.#store.apps(), this.#store.deployments());
    const before = this.#lists();
    const lists = replaceFleetImages(before, changed, (fleet) => present.has(fleet));
    const text = JSON.stringify(lists);
    if (text !== JSON.stringify(before)) this.#store.saveLearnedValue(NAME, text);
  }

  #lists(): readonly FleetImages[] {
    const text = this.#store.learnedValue(NAME);
    try {
      return text === undefined ? [] : schema.parse(JSON.parse(text));
    } catch {
      // The next apply of a fleet writes it again.
      return [];
    }
  }
}
