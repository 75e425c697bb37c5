import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalIdentifier, identifiersOf } from "../../../../src/control-plane/core/identifier.ts";
import { otherIccids } from "../../../../src/control-plane/core/sims/iccid.ts";
import { assetRegistrationSchema } from "../../../../src/protocol/assets/asset-request.ts";
import { someAsset } from "../../../contract/control-plane-store/harness.ts";
import { someProSim } from "../../../support/control-plane/sims.ts";
import { arbitraryAsset } from "../../../support/control-plane/arbitrary-asset.ts";

test("UUIDs are converted to lower case, other identifiers are unchanged", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.stringMatching(/^[A-Za-z0-9]{1,34}$/), (uuid, other) => {
      expect(canonicalIdentifier(uuid.toUpperCase())).toBe(uuid);
      expect(canonicalIdentifier(other)).toBe(other);
    }),
  );
});

test("an asset is addressed by its UUID, serial number, SID and both ICCIDs in each form, and not by its IMSI", () => {
  fc.assert(
    fc.property(arbitraryAsset, (asset) => {
      const expected = [
        asset.uuid,
        asset.serialNumber,
        asset.supersim?.sid,
        ...iccidsOf(asset.supersim?.iccid),
        ...iccidsOf(asset.prosim?.iccid),
      ];
      expect(identifiersOf(asset).map(({ value }) => value)).toEqual(expected.filter((value) => value !== undefined));
    }),
  );
});

const iccidsOf = (iccid: string | undefined) => (iccid === undefined ? [] : [iccid, ...otherIccids(iccid)]);

test("the ICCID of an asset whose serial number is the other form of it is one identifier", () => {
  const asset = someAsset({
    serialNumber: "89883030000012345671",
    prosim: someProSim({ iccid: "8988303000001234567" }),
  });
  expect(identifiersOf(asset).map(({ value }) => value)).toEqual([
    asset.uuid,
    "89883030000012345671",
    "8988303000001234567",
  ]);
});

test("a serial number cannot have the form of a UUID in any case, so that it cannot shadow one", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.boolean(), (uuid, upper) => {
      const serial_number = upper ? uuid.toUpperCase() : uuid;
      expect(assetRegistrationSchema.safeParse({ serial_number }).success).toBe(false);
    }),
  );
});
