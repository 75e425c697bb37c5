import { Box } from "@mantine/core";
import type { ReactNode } from "react";
import { Age } from "../../parts/age.tsx";
import { Note } from "../../parts/note.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { useHold } from "./asset-queries.ts";

/** Says that an asset is held, why, and until when; nothing if it is not. */
export function HoldBanner({ assetId }: { readonly assetId: string }): ReactNode {
  const hold = useHold(assetId).data;
  if (!hold) return null;
  return (
    <Box mb="md">
      <Note kind="warn" title="This asset is held: rollouts do not touch it.">
        <div>
          <SafeText text={hold.reason} max={300} />
        </div>
        <div>
          Since <Age at={hold.set_at} />, by <SafeText text={hold.set_by.name ?? hold.set_by.id} max={200} />;{" "}
          {hold.until === null ? (
            "until it is released"
          ) : (
            <>
              it ends <Age at={hold.until} />
            </>
          )}
          .
        </div>
      </Note>
    </Box>
  );
}
