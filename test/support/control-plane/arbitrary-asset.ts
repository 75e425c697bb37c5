import fc from "fast-check";
import type { Asset, ProSim, SuperSim } from "../../../src/control-plane/core/asset.ts";

const status = fc.constantFrom("active" as const, "inactive" as const);
const digits = (min: number, max: number) =>
  fc.string({
    unit: fc.constantFrom("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
    minLength: min,
    maxLength: max,
  });
const word = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);

/** Any valid Super SIM. */
export const arbitrarySuperSim: fc.Arbitrary<SuperSim> = fc.record({
  sid: fc.stringMatching(/^[A-Za-z0-9]{2,34}$/),
  iccid: digits(18, 22),
  networkGroup: word,
  status,
});

/** Any valid PRO SIM. */
export const arbitraryProSim: fc.Arbitrary<ProSim> = fc.record({
  imsi: digits(6, 15),
  iccid: digits(18, 22),
  serviceProfile: word,
  status,
});

/** Any asset, with none, one or both SIMs. */
export const arbitraryAsset: fc.Arbitrary<Asset> = fc.record({
  uuid: fc.uuid(),
  accountId: fc.constant("acc_1"),
  serialNumber: word,
  name: fc.string({ minLength: 1, maxLength: 40 }),
  type: fc.string({ maxLength: 20 }),
  createdAt: fc.integer({ min: 0, max: 4_000_000_000 }),
  supersim: fc.option(arbitrarySuperSim, { nil: undefined }),
  prosim: fc.option(arbitraryProSim, { nil: undefined }),
});
