import { Button, Group, Stack, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { usePermission } from "../../api/session.ts";
import type { Asset } from "../../api/types.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Empty } from "../../parts/empty.tsx";
import { SIM_TYPES } from "../sims/sim-words.ts";
import classes from "./asset.module.css";
import { SimCard } from "./sim-card.tsx";
import type { TabProps } from "./tab-props.ts";
import { useAssetUpdate } from "./use-asset-update.ts";
import { UsageSection } from "./usage-section.tsx";

/** The SIMs of the asset, and what they have used beside what the device counted itself. */
export function SimsTab({ asset }: TabProps): ReactNode {
  const types = SIM_TYPES.filter((type) => asset[type] !== undefined);
  if (types.length === 0)
    return <Empty title="The asset has no SIM.">SIMs are given when an asset is registered.</Empty>;
  return (
    <Stack gap="lg">
      <Status asset={asset} />
      <ul className={classes.cards}>
        {types.map((type) => (
          <SimCard key={type} asset={asset} type={type} />
        ))}
      </ul>
      <UsageSection asset={asset} />
    </Stack>
  );
}

function Status({ asset }: { readonly asset: Asset }): ReactNode {
  const mayChange = usePermission("assets.connectivity");
  const [isAsking, setAsking] = useState(false);
  const update = useAssetUpdate(asset.uuid, () => setAsking(false));
  const next = nextStatus(asset);
  const verb = next === "active" ? "Activate" : "Deactivate";
  return (
    <Group gap="md">
      <Text>
        Status: <strong>{asset.status}</strong>
      </Text>
      {mayChange && (
        <Button size="xs" variant="default" onClick={() => setAsking(true)}>
          {verb} the SIMs
        </Button>
      )}
      <Confirm
        isOpen={isAsking}
        title={`${verb} all SIMs of ${asset.name}?`}
        action={verb}
        isPending={update.isPending}
        error={update.error}
        onConfirm={() => update.mutate({ status: next })}
        onClose={() => setAsking(false)}
      >
        {next === "inactive"
          ? "A device that has no other network is cut off. Its apps go on running."
          : "The SIMs connect again, and their usage is billed."}{" "}
        An operator may take a while to confirm it; until then the change is shown as pending.
      </Confirm>
    </Group>
  );
}

/** The status to change to: the other one than what is pending, or else than what there is. */
function nextStatus({ status, supersim, prosim }: Asset): Asset["status"] {
  const expected = supersim?.pending?.status ?? prosim?.pending?.status ?? status;
  return expected === "active" ? "inactive" : "active";
}
