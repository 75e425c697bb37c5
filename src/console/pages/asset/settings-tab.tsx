import { Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { HoldSection } from "./hold-section.tsx";
import type { TabProps } from "./tab-props.ts";
import { TagsSection } from "./tags-section.tsx";
import { VariablesSection } from "./variables-section.tsx";

/** What people set for an asset: its tags, its hold and its variables. */
export function SettingsTab({ asset }: TabProps): ReactNode {
  return (
    <Stack gap="lg">
      <TagsSection assetId={asset.uuid} tags={asset.tags} />
      <HoldSection assetId={asset.uuid} />
      <VariablesSection assetId={asset.uuid} />
    </Stack>
  );
}
