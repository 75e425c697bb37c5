import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { usePermission } from "../../api/session.ts";
import type { Asset } from "../../api/types.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Empty } from "../../parts/empty.tsx";
import classes from "./asset.module.css";
import type { TabProps } from "./tab-props.ts";
import { NetworkGroup } from "./network-group.tsx";
import { useAssetUpdate } from "./use-asset-update.ts";
import { UsageSection } from "./usage-section.tsx";

/** The SIMs of the asset, and what they have used beside what the device counted itself. */
export function SimsTab({ asset }: TabProps): ReactNode {
  const { supersim, prosim } = asset;
  if (!supersim && !prosim)
    return <Empty title="The asset has no SIM.">SIMs are given when an asset is registered.</Empty>;
  return (
    <Stack gap="lg">
      <ul className={classes.cards}>
        {supersim && (
          <li className={classes.card}>
            <Title order={2}>Super SIM</Title>
            <dl className={classes.facts}>
              <dt>SID</dt>
              <dd>{supersim.sid}</dd>
              <dt>ICCID</dt>
              <dd>{supersim.iccid}</dd>
              <dt>Network group</dt>
              <dd>
                <NetworkGroup asset={asset} group={supersim.network_group} />
              </dd>
            </dl>
          </li>
        )}
        {prosim && (
          <li className={classes.card}>
            <Title order={2}>PRO SIM</Title>
            <dl className={classes.facts}>
              <dt>IMSI</dt>
              <dd>{prosim.imsi}</dd>
              <dt>ICCID</dt>
              <dd>{prosim.iccid}</dd>
              <dt>Service profile</dt>
              <dd>{prosim.service_profile}</dd>
            </dl>
          </li>
        )}
      </ul>
      <Status asset={asset} />
      {supersim && <UsageSection asset={asset} sim="supersim" />}
      {prosim && <UsageSection asset={asset} sim="prosim" />}
    </Stack>
  );
}

function Status({ asset }: { readonly asset: Asset }): ReactNode {
  const mayChange = usePermission("assets.connectivity");
  const [isAsking, setAsking] = useState(false);
  const update = useAssetUpdate(asset.uuid, () => setAsking(false));
  const isActive = asset.status === "active";
  const verb = isActive ? "Deactivate" : "Activate";
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
        onConfirm={() => update.mutate({ status: isActive ? "inactive" : "active" })}
        onClose={() => setAsking(false)}
      >
        {isActive
          ? "A device that has no other network is cut off. Its apps go on running."
          : "The SIMs connect again, and their usage is billed."}
      </Confirm>
    </Group>
  );
}
