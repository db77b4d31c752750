//! Keeps a bounded number of frames of a stream of unknown length.

use super::data::Frames;

/// Numbers per body and frame: px, py, pz, qw, qx, qy, qz.
pub(super) const POSE_LEN: usize = 7;
/// More frames than this are not smoother: 50 s at 30 frames per second.
const MAX_FRAMES: usize = 1500;
/// All poses together: 2.8 MB in memory, 3.7 MB in the page.
const MAX_FLOATS: usize = 700_000;

/// Takes every sample, keeps evenly spaced ones: every `stride`-th, and always the first and the last.
///
/// When the store is full every other frame is dropped and the stride doubles, so the result depends
/// on the number of samples only. Memory is taken once, in [`FrameThinner::new`].
#[derive(Debug, Clone)]
pub struct FrameThinner {
    frame_len: usize,
    capacity: usize,
    stride: u64,
    samples: u64,
    times: Vec<f64>,
    poses: Vec<f32>,
    last_time: f64,
    last_pose: Vec<f32>,
}

impl FrameThinner {
    /// A thinner for a scene of `bodies` bodies; keeps fewer frames when there are many bodies.
    pub fn new(bodies: usize) -> Self {
        let frame_len = bodies * POSE_LEN;
        let affordable = MAX_FLOATS.checked_div(frame_len).unwrap_or(MAX_FRAMES);
        Self::with_capacity(bodies, affordable.min(MAX_FRAMES))
    }

    /// A thinner of another list that keeps the same frames: seven numbers each of `count` things.
    pub fn beside(&self, count: usize) -> Self {
        Self::with_capacity(count, self.capacity)
    }

    /// A thinner that keeps at most `capacity` frames, at least 4 (and the last one).
    pub fn with_capacity(bodies: usize, capacity: usize) -> Self {
        // Even, so that the sample that finds the store full is on the doubled stride too.
        let capacity = (capacity.max(4) / 2) * 2;
        let frame_len = bodies * POSE_LEN;
        Self {
            frame_len,
            capacity,
            stride: 1,
            samples: 0,
            times: Vec::with_capacity(capacity + 1),
            poses: Vec::with_capacity((capacity + 1) * frame_len),
            last_time: 0.0,
            last_pose: vec![0.0; frame_len],
        }
    }

    /// Takes the sample at time `t`: all poses of all bodies, in the order of the scene. Does not allocate.
    ///
    /// Missing numbers stay as they were and surplus ones are dropped; the caller owns both lists.
    pub fn push(&mut self, t: f64, poses: &[f64]) {
        debug_assert_eq!(poses.len(), self.frame_len, "poses of a frame");
        self.last_time = t;
        for (kept, &value) in self.last_pose.iter_mut().zip(poses) {
            *kept = value as f32;
        }
        if self.samples.is_multiple_of(self.stride) {
            if self.times.len() == self.capacity {
                self.drop_every_other();
            }
            self.times.push(t);
            self.poses.extend_from_slice(&self.last_pose);
        }
        self.samples += 1;
    }

    /// What is kept of the samples so far; the thinner can go on afterwards.
    pub fn frames(&self) -> Frames {
        let mut frames = Frames {
            stride: self.stride,
            times: self.times.clone(),
            poses: self.poses.clone(),
            forces: Vec::new(),
        };
        let last_is_kept = self.samples == 0 || (self.samples - 1).is_multiple_of(self.stride);
        if !last_is_kept {
            frames.times.push(self.last_time);
            frames.poses.extend_from_slice(&self.last_pose);
        }
        frames
    }

    fn drop_every_other(&mut self) {
        let kept = self.times.len().div_ceil(2);
        for i in 1..kept {
            self.times[i] = self.times[2 * i];
            self.poses.copy_within(2 * i * self.frame_len..(2 * i + 1) * self.frame_len, i * self.frame_len);
        }
        self.times.truncate(kept);
        self.poses.truncate(kept * self.frame_len);
        self.stride *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(thinner: &mut FrameThinner, samples: usize) {
        for i in 0..samples {
            let x = i as f64;
            thinner.push(0.5 * x, &[x, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        }
    }

    #[test]
    fn short_streams_are_kept_whole() {
        let mut thinner = FrameThinner::with_capacity(1, 10);
        assert_eq!(thinner.frames().len(), 0);
        stream(&mut thinner, 10);
        let frames = thinner.frames();
        assert_eq!((frames.len(), frames.stride), (10, 1));
        assert_eq!(frames.poses[7 * 9], 9.0);
    }

    #[test]
    fn first_and_last_survive_and_the_rest_is_evenly_spaced_for_any_length() {
        for samples in 1..400 {
            let mut thinner = FrameThinner::with_capacity(1, 10);
            stream(&mut thinner, samples);
            let frames = thinner.frames();
            let n = frames.len();
            assert!(n <= 11 && n >= samples.min(5), "{n} frames of {samples} samples");
            assert_eq!(frames.poses.len(), n * POSE_LEN);
            assert_eq!(frames.times[0], 0.0);
            assert_eq!(frames.times[n - 1], 0.5 * (samples - 1) as f64);
            for (i, &t) in frames.times.iter().enumerate() {
                assert_eq!(f64::from(frames.poses[i * POSE_LEN]), 2.0 * t, "pose and time belong together");
                if i + 1 < n {
                    assert_eq!(t, 0.5 * (i as u64 * frames.stride) as f64);
                }
            }
        }
    }

    #[test]
    fn memory_is_taken_once_and_bounded_by_the_float_budget() {
        let mut thinner = FrameThinner::new(100);
        let (times, poses) = (thinner.times.capacity(), thinner.poses.capacity());
        assert!(poses <= MAX_FLOATS + 700);
        let sample = vec![0.25; 700];
        for i in 0..100_000 {
            thinner.push(f64::from(i), &sample);
        }
        assert_eq!((thinner.times.capacity(), thinner.poses.capacity()), (times, poses));
        assert!(thinner.frames().len() >= 400);
    }

    #[test]
    fn a_scene_without_bodies_keeps_times_only() {
        let mut thinner = FrameThinner::new(0);
        thinner.push(1.0, &[]);
        assert_eq!(thinner.frames().times, [1.0]);
    }
}
