/** Signed URLs of objects on S3. The signature is that of the identity that runs this process, and grants what it may. */
import { GetObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { savedAs } from "../../../codec/media-types.ts";
import type { ObjectLinks } from "../../../ports/object-store.ts";

export const s3ObjectLinks = ({
  client,
  bucket,
}: {
  readonly client: S3Client;
  readonly bucket: string;
}): ObjectLinks => ({
  linkTo: async (key, { seconds, fileName, contentType }) => {
    // Only the function of the API needs it, and only for a file or a large export.
    const { getSignedUrl } = await import("@aws-sdk/s3-request-presigner");
    const command = new GetObjectCommand({
      Bucket: bucket,
      Key: key,
      ResponseContentDisposition: savedAs(fileName),
      ...(contentType !== undefined && { ResponseContentType: contentType }),
    });
    return getSignedUrl(client, command, { expiresIn: seconds });
  },
});
