// Reads the data block of the page: JSON whose long lists of numbers are base64 of little-endian floats.

function bytes(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
}

/** The report's scene, frames and plots with typed arrays in place of base64. */
export function readData(element) {
  const { scene, frames, plots } = JSON.parse(element.textContent);
  const f64 = (text) => new Float64Array(bytes(text));
  const meshes = (scene.meshes ?? []).map((mesh) => ({
    ...mesh,
    positions: new Uint16Array(bytes(mesh.positions)),
    indices: mesh.wide ? new Uint32Array(bytes(mesh.indices)) : new Uint16Array(bytes(mesh.indices)),
  }));
  // A visual points at its mesh; those whose file could not be read stay marks.
  for (const holder of [...scene.bodies, { visuals: scene.world_visuals }]) {
    for (const visual of holder.visuals ?? []) visual.mesh = meshes[visual.mesh ?? -1];
  }
  return {
    scene,
    frames: { stride: frames.stride, times: f64(frames.times), poses: new Float32Array(bytes(frames.poses)), forces: new Float32Array(bytes(frames.forces ?? "")) },
    plots: plots.map((plot) => ({
      ...plot,
      x: f64(plot.x),
      series: plot.series.map(({ label, values, min, max }) => ({
        label,
        min: f64(values ?? min),
        max: values === undefined ? f64(max) : null,
      })),
      // Drawn with a curve: an error band, or dots of what was recorded.
      overlays: (plot.overlays ?? []).map(({ of, label, values, low, high }) =>
        values ? { of, label, values: f64(values) } : { of, label, low: f64(low), high: f64(high) },
      ),
      limits: plot.limits ?? [],
    })),
  };
}
